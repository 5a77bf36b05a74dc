"use strict";
/** Follows a run that goes on: `progress` is told how far it is, `ended` that there is a verdict. */
const follow = (source, { progress, ended }) => {
  const state = document.getElementById("connection");
  const events = new EventSource(`${source}/events`);
  let busy = false;
  let waiting = null;
  const say = (text) => { if (state.textContent !== text) state.textContent = text; };

  /** One after the other; of those that come meanwhile the last. */
  async function take(data) {
    waiting = data;
    if (busy) return;
    busy = true;
    try {
      while (waiting !== null) {
        const next = waiting;
        waiting = null;
        await progress(JSON.parse(next));
      }
    } catch {
      say("What came last could not be read; the next news will be.");
    } finally {
      busy = false;
    }
  }

  events.addEventListener("open", () => say("This page follows the run."));
  events.addEventListener("progress", ({ data }) => take(data));
  events.addEventListener("ended", () => { events.close(); say("The run has ended."); ended(); });
  events.addEventListener("problem", ({ data }) => { events.close(); say(JSON.parse(data)); });
  events.addEventListener("error", () => {
    const gone = events.readyState === EventSource.CLOSED;
    say(gone ? "The server does not answer any more; this is what it said last." : "The server does not answer; trying again.");
  });
};
