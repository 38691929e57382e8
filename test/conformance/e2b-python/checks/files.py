import io
import uuid

from e2b import FileType

from .support import equal, raises, settle

BYTES = bytes((i * 7) % 256 for i in range(70_000))


async def read_stream(flavor, sandbox, path, **options):
    stream = await settle(sandbox.files.read(path, format="stream", **options))
    if flavor.is_async:
        return b"".join([chunk async for chunk in stream])
    return b"".join(stream)


async def check_write_and_read_in_every_format(flavor, sandbox):
    text = "héllo\nwörld 🎉"
    info = await settle(sandbox.files.write("text.txt", text))
    equal((info.name, info.path, info.type), ("text.txt", "/home/user/text.txt", FileType.FILE))
    equal(await settle(sandbox.files.read("text.txt")), text)
    equal(await settle(sandbox.files.read("text.txt", format="bytes")), bytearray(text.encode()))
    equal(await read_stream(flavor, sandbox, "text.txt"), text.encode())


async def check_write_bytes_and_file_objects(flavor, sandbox):
    await settle(sandbox.files.write("bytes.bin", BYTES))
    equal(bytes(await settle(sandbox.files.read("bytes.bin", format="bytes"))), BYTES)
    await settle(sandbox.files.write("io.bin", io.BytesIO(BYTES)))
    equal(bytes(await settle(sandbox.files.read("io.bin", format="bytes"))), BYTES)
    await settle(sandbox.files.write("io.txt", io.StringIO("téxt")))
    equal(await settle(sandbox.files.read("io.txt")), "téxt")


async def check_octet_stream_and_gzip(flavor, sandbox):
    await settle(sandbox.files.write("octet.bin", BYTES, use_octet_stream=True))
    equal(bytes(await settle(sandbox.files.read("octet.bin", format="bytes"))), BYTES)
    await settle(sandbox.files.write("packed.bin", BYTES, gzip=True))
    equal(bytes(await settle(sandbox.files.read("packed.bin", format="bytes", gzip=True))), BYTES)
    equal(await read_stream(flavor, sandbox, "packed.bin", gzip=True), BYTES)


async def check_empty_file(flavor, sandbox):
    await settle(sandbox.files.write("empty", ""))
    equal(await settle(sandbox.files.read("empty")), "")
    equal(await read_stream(flavor, sandbox, "empty"), b"")


async def check_write_many(flavor, sandbox):
    infos = await settle(
        sandbox.files.write_files([{"path": "many/a", "data": "A"}, {"path": "/tmp/many/ü b", "data": BYTES}])
    )
    equal([info.path for info in infos], ["/home/user/many/a", "/tmp/many/ü b"])
    equal(bytes(await settle(sandbox.files.read("/tmp/many/ü b", format="bytes"))), BYTES)
    equal(await settle(sandbox.files.write_files([])), [])


async def check_write_many_with_every_option(flavor, sandbox):
    metadata = {"made": "together"}
    for prefix, options in [("opt1", {"gzip": True}), ("opt2", {"use_octet_stream": True}), ("opt3", {"user": "root"})]:
        home = "/root" if options.get("user") == "root" else "/home/user"
        entries = [{"path": f"{prefix}/a", "data": "A"}, {"path": f"{prefix}/b", "data": io.BytesIO(BYTES)}]
        infos = await settle(sandbox.files.write_files(entries, metadata=metadata, **options))
        equal([(info.path, info.metadata) for info in infos], [(f"{home}/{prefix}/{name}", metadata) for name in "ab"])
        equal(bytes(await settle(sandbox.files.read(f"{home}/{prefix}/b", format="bytes"))), BYTES)


async def check_read_with_limits(flavor, sandbox):
    await settle(sandbox.files.write("idle.bin", BYTES, request_timeout=30))
    equal(await read_stream(flavor, sandbox, "idle.bin", stream_idle_timeout=10), BYTES)
    equal(bytes(await settle(sandbox.files.read("idle.bin", format="bytes", gzip=True, request_timeout=30))), BYTES)


async def check_every_call_takes_a_user(flavor, sandbox):
    user = "root"
    await settle(sandbox.files.write("as-root/f", "x", user=user))
    equal(await settle(sandbox.files.exists("as-root/f", user=user)), True)
    equal(await settle(sandbox.files.exists("as-root/f")), False)
    equal([entry.owner for entry in await settle(sandbox.files.list("as-root", user=user))], ["root"])
    equal(await settle(sandbox.files.make_dir("as-root/d", user=user)), True)
    equal((await settle(sandbox.files.get_info("as-root/d", user=user))).owner, "root")
    equal((await settle(sandbox.files.rename("as-root/f", "as-root/g", user=user))).path, "/root/as-root/g")
    equal(await settle(sandbox.files.read("as-root/g", user=user)), "x")
    await settle(sandbox.files.remove("as-root", user=user))
    equal(await settle(sandbox.files.exists("/root/as-root")), False)


async def check_write_as_root(flavor, sandbox):
    await settle(sandbox.files.write("mine.txt", "r", user="root"))
    info = await settle(sandbox.files.get_info("/root/mine.txt"))
    equal((info.owner, info.group), ("root", "root"))


async def check_metadata(flavor, sandbox):
    await settle(sandbox.files.write("meta.txt", "m", metadata={"Purpose": "test"}))
    equal((await settle(sandbox.files.get_info("meta.txt"))).metadata, {"purpose": "test"})
    await settle(sandbox.files.write("meta.txt", "m"))
    assert not (await settle(sandbox.files.get_info("meta.txt"))).metadata


async def check_list_to_a_depth(flavor, sandbox):
    await settle(sandbox.files.write("tree/b/deep/file", "1"))
    await settle(sandbox.files.write("tree/a", "22"))

    async def names(**options):
        return [entry.path.replace("/home/user/tree/", "") for entry in await settle(sandbox.files.list("tree", **options))]

    equal(await names(), ["a", "b"])
    equal(await names(depth=3), ["a", "b", "b/deep", "b/deep/file"])
    first, second = await settle(sandbox.files.list("tree"))
    equal((first.type, first.size, second.type), (FileType.FILE, 2, FileType.DIR))


async def check_exists_and_get_info(flavor, sandbox):
    name = f"info-{uuid.uuid4().hex}"
    equal(await settle(sandbox.files.exists(name)), False)
    await settle(sandbox.files.write(name, "12345"))
    equal(await settle(sandbox.files.exists(name)), True)
    info = await settle(sandbox.files.get_info(name))
    equal((info.size, info.mode, info.permissions, info.owner, info.group), (5, 0o644, "-rw-r--r--", "user", "user"))


async def check_links(flavor, sandbox):
    await settle(sandbox.commands.run("mkdir -p links && echo x > links/file && ln -sf file links/link"))
    info = await settle(sandbox.files.get_info("links/link"))
    equal((info.type, info.symlink_target), (FileType.FILE, "/home/user/links/file"))


async def check_make_dir(flavor, sandbox):
    equal(await settle(sandbox.files.make_dir("new/dir")), True)
    equal(await settle(sandbox.files.make_dir("new/dir")), False)


async def check_rename(flavor, sandbox):
    await settle(sandbox.files.write("old.txt", "old"))
    info = await settle(sandbox.files.rename("old.txt", "moved/new.txt"))
    equal(info.path, "/home/user/moved/new.txt")
    equal(await settle(sandbox.files.exists("old.txt")), False)


async def check_remove(flavor, sandbox):
    await settle(sandbox.files.write("rm/deep/file", "x"))
    await settle(sandbox.files.remove("rm"))
    equal(await settle(sandbox.files.exists("rm")), False)
    await settle(sandbox.files.remove("rm"))


async def check_missing_things(flavor, sandbox):
    await raises("FileNotFoundException", lambda: sandbox.files.read("missing"))
    await raises("FileNotFoundException", lambda: sandbox.files.get_info("missing"))
    await raises("FileNotFoundException", lambda: sandbox.files.list("missing"))
    await raises("FileNotFoundException", lambda: sandbox.files.rename("missing", "other"))


async def check_wrong_kinds(flavor, sandbox):
    await settle(sandbox.files.write("plain", "x"))
    await raises("InvalidArgumentException", lambda: sandbox.files.list("plain"))
    await raises("InvalidArgumentException", lambda: sandbox.files.read("/home/user"))
    await raises("InvalidArgumentException", lambda: sandbox.files.write("/home/user", "x"))
    await raises("InvalidArgumentException", lambda: sandbox.files.make_dir("plain"))


async def check_unknown_user(flavor, sandbox):
    await raises("AuthenticationException", lambda: sandbox.files.read("x", user="nobody-here"))
    await raises("AuthenticationException", lambda: sandbox.files.list("/", user="nobody-here"))
