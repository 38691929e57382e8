"""Output of a kernel that waits for its reader, so that it neither grows without bound in memory nor gets lost."""

import sys
import threading

import zmq
from ipykernel.kernelapp import IPKernelApp

# Characters of a stream in one message.
PIECE = 128 * 1024
# Messages on their way to the bridge.
QUEUED_MESSAGES = 16
DEFAULT_QUEUED_MESSAGES = 1000


class BoundedKernelApp(IPKernelApp):
    def init_iopub(self, context):
        context.setsockopt(zmq.SNDHWM, QUEUED_MESSAGES)
        try:
            super().init_iopub(context)
        finally:
            context.setsockopt(zmq.SNDHWM, DEFAULT_QUEUED_MESSAGES)
        # Wait instead of dropping.
        self.iopub_thread.socket.setsockopt(zmq.XPUB_NODROP, 1)


def until_sent(thread):
    """Returns when everything that was given to the output thread so far is on its way."""
    sent = threading.Event()
    thread.schedule(sent.set)
    # In short steps, because a signal interrupts only between them.
    while not sent.wait(0.2):
        if not thread.thread.is_alive():
            return


def bound_streams(OutStream, thread_of):
    """Make writes to stdout and stderr keep their order between each other, and wait when much is under way."""
    write = OutStream.write
    last = [None]
    pending = [0]

    def bounded_write(self, text):
        if not isinstance(text, str) or not self._is_master_process():
            return write(self, text)
        other = last[0]
        if other is not self:
            if other is not None:
                _flush(other)
            last[0], pending[0] = self, 0
        for start in range(0, len(text), PIECE):
            piece = text[start : start + PIECE]
            write(self, piece)
            pending[0] += len(piece)
            if pending[0] >= PIECE:
                _flush(self)
                pending[0] = 0
        return len(text)

    def _flush(stream):
        thread = thread_of(stream)
        if thread is None or thread.thread is threading.current_thread():
            return
        thread.schedule(stream._flush)
        until_sent(thread)

    OutStream.write = bounded_write
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, OutStream):
            stream.flush_timeout = 3600
