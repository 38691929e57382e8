"""Output of programs that a cell of Python starts: they write to file descriptors of the kernel, which are pipes that it reads."""

import codecs
import fcntl
import os
import select
import struct
import termios
import threading

READ_BYTES = 64 * 1024
_readers = []


def install(OutStream):
    """Have streams that are opened later read such output by a `Reader`."""

    def watch(stream):
        reader = Reader(stream)
        _readers.append(reader)
        reader.follow()

    OutStream._watch_pipe_fd = watch


def take_written():
    """Pass on what programs wrote until now, so that it counts as output of the cell that runs now and of no later one."""
    for reader in _readers:
        reader.take(waiting_bytes(reader.fd))


def waiting_bytes(fd):
    """A program that goes on writing makes a pipe that is never empty, so what is there at one moment is the most to wait for."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0]


class Reader:
    """Hands on what comes through the pipe of a stream, characters whole and bytes that are none replaced."""

    def __init__(self, stream):
        self.fd = stream._fid
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Held from reading to writing: whoever has it knows that all that was read before is passed on.
        self._lock = threading.Lock()
        os.set_blocking(self.fd, False)

    def follow(self):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        while self._stream._should_watch:
            poll.poll()
            if not self.take(READ_BYTES):
                return

    def take(self, most):
        """False at the end of the pipe."""
        with self._lock:
            while most > 0:
                try:
                    data = os.read(self.fd, min(most, READ_BYTES))
                except BlockingIOError:
                    break
                if not data:
                    return False
                most -= len(data)
                text = self._decoder.decode(data)
                if text:
                    self._stream.write(text)
        return True
