"""What a case may do to the process that it runs in: a module of test agents, which is written beside them."""

import ctypes
import os


def behave(case: str) -> None:
    """Do what the case is called, and return where it is nothing wild."""
    print("this case is", case)
    match case:
        case "hang":
            ctypes.PyDLL(None).sleep(1000)
        case "exit":
            os._exit(3)
        case "crash":
            ctypes.string_at(0)
        case "eat":
            bytearray(1 << 40)
        case "wait":
            os.open("alive", os.O_WRONLY)  # for as long as this process lives
            os.close(os.open("release", os.O_RDONLY))
