"""A chat client for servers that speak OpenAI's chat completions, over httpx."""

from __future__ import annotations

from typing import Any

from oloproof.errors import Problem, UsageError
from oloproof.runtime.controllers import Completion
from oloproof.runtime.decision import Usage


class OpenAICompatibleClient:
    """``POST {base_url}/chat/completions`` with a model's name. ``api_key`` None sends no Authorization.

    Errors: UsageError where httpx is not installed. :meth:`complete` raises httpx's errors, and ValueError for an
    answer that is none; in a loop either fails the run with ``planner_failed``.
    """

    def __init__(
        self, base_url: str, model: str, *, api_key: str | None = None, timeout_s: float = 60.0, transport: Any = None
    ) -> None:
        try:
            import httpx  # an extra: most runs have no model
        except ImportError:
            hint = "pip install 'oloproof[http]'"
            raise UsageError(Problem("OLO754", "a chat client needs httpx", hint)) from None
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        self._model = model
        self._http = httpx.AsyncClient(
            base_url=base_url.rstrip("/") + "/", headers=headers, timeout=timeout_s, transport=transport
        )

    async def complete(self, messages: list[dict[str, str]]) -> Completion:
        """The first choice's text; the usage is the answer's ``total_tokens``, None where it tells none."""
        asked = {"model": self._model, "messages": messages}
        response = await self._http.post("chat/completions", json=asked)
        response.raise_for_status()
        said = response.json()
        try:
            text = said["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise ValueError("the server's answer holds no choices[0].message.content") from None
        if not isinstance(text, str):
            raise ValueError("the server's answer holds no text")
        usage = said.get("usage")
        tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
        return Completion(text, Usage(tokens) if type(tokens) is int and tokens >= 0 else None)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
