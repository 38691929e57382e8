from e2b import FilesystemEventType

from .support import equal, raises, settle, until


class Watched:
    """A watch of either class: polled when synchronous, streamed when asynchronous."""

    def __init__(self, flavor, sandbox):
        self.flavor = flavor
        self.sandbox = sandbox
        self.events = []

    async def start(self, path, **options):
        if self.flavor.is_async:
            self.handle = await self.sandbox.files.watch_dir(path, on_event=self.events.append, **options)
        else:
            self.handle = self.sandbox.files.watch_dir(path, **options)
        return self

    async def sees(self, name, kind):
        def probe():
            if not self.flavor.is_async:
                self.events.extend(self.handle.get_new_events())
            return next((event for event in self.events if event.name == name and event.type == kind), None)

        return await until(probe, f"{kind} of {name}")

    async def stop(self):
        await settle(self.handle.stop())


async def check_create_write_and_remove(flavor, sandbox):
    await settle(sandbox.files.make_dir("watched"))
    watch = await Watched(flavor, sandbox).start("watched")
    await settle(sandbox.files.write("watched/new.txt", "x"))
    await watch.sees("new.txt", FilesystemEventType.CREATE)
    await watch.sees("new.txt", FilesystemEventType.WRITE)
    await settle(sandbox.files.rename("watched/new.txt", "watched/moved.txt"))
    await watch.sees("new.txt", FilesystemEventType.RENAME)
    await settle(sandbox.files.remove("watched/moved.txt"))
    await watch.sees("moved.txt", FilesystemEventType.REMOVE)
    await watch.stop()


async def check_recursive_with_entry(flavor, sandbox):
    await settle(sandbox.files.make_dir("deep"))
    watch = await Watched(flavor, sandbox).start("deep", recursive=True, include_entry=True)
    await settle(sandbox.files.make_dir("deep/later"))
    await settle(sandbox.files.write("deep/later/inner.txt", "x"))
    event = await watch.sees("later/inner.txt", FilesystemEventType.CREATE)
    equal(event.entry.path if event.entry else None, "/home/user/deep/later/inner.txt")
    await watch.stop()


async def check_as_another_user_with_network_mounts_allowed(flavor, sandbox):
    await settle(sandbox.files.make_dir("theirs", user="root"))
    watch = await Watched(flavor, sandbox).start("theirs", user="root", allow_network_mounts=True)
    await settle(sandbox.files.write("/root/theirs/f", "x", user="root"))
    await watch.sees("f", FilesystemEventType.CREATE)
    await watch.stop()


async def check_a_timeout_ends_a_streamed_watch(flavor, sandbox):
    if not flavor.is_async:
        return
    await settle(sandbox.files.make_dir("timed"))
    exits = []
    await Watched(flavor, sandbox).start("timed", timeout=0.3, on_exit=exits.append)
    await until(lambda: exits, "on_exit")
    equal([type(error).__name__ for error in exits], ["TimeoutException"])


async def check_a_stopped_watch_is_gone(flavor, sandbox):
    if flavor.is_async:
        return
    await settle(sandbox.files.make_dir("stopped"))
    watch = await Watched(flavor, sandbox).start("stopped")
    await watch.stop()
    await raises("SandboxException", lambda: watch.handle.get_new_events())


async def check_missing_path_and_file(flavor, sandbox):
    await settle(sandbox.files.write("plain", "x"))
    await raises("FileNotFoundException", lambda: Watched(flavor, sandbox).start("missing"))
    await raises("InvalidArgumentException", lambda: Watched(flavor, sandbox).start("plain"))
