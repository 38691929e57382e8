import os

from .support import equal, raises, settle


def name_for(flavor):
    return f"conformance-py-{flavor.name}-{os.getpid()}"


async def with_volume(flavor, work):
    volume = await settle(flavor.Volume.create(name_for(flavor)))
    try:
        await work(volume)
    finally:
        equal(await settle(flavor.Volume.destroy(volume.volume_id)), True)


async def check_life_of_a_volume(flavor, sandbox):
    async def work(volume):
        info = await settle(flavor.Volume.get_info(volume.volume_id))
        equal((info.volume_id, info.name, info.token), (volume.volume_id, volume.name, volume.token))
        assert volume.volume_id in [other.volume_id for other in await settle(flavor.Volume.list())]
        equal((await settle(flavor.Volume.connect(volume.volume_id))).name, volume.name)
        await raises("VolumeException", lambda: flavor.Volume.create(volume.name))

    await with_volume(flavor, work)
    await raises("VolumeNotFoundException", lambda: flavor.Volume.get_info("nosuchvolume"))
    equal(await settle(flavor.Volume.destroy("nosuchvolume")), False)


async def check_content_of_a_volume(flavor, sandbox):
    async def work(volume):
        await settle(volume.write_file("text", "äöü"))
        equal(await settle(volume.read_file("text")), "äöü")
        await settle(volume.write_file("bytes", b"\x00\xff\n"))
        equal(bytes(await settle(volume.read_file("bytes", format="bytes"))), b"\x00\xff\n")
        await settle(volume.make_dir("a/b", force=True))
        await settle(volume.write_file("a/b/c", "c", mode=0o600))
        equal(sorted(entry.path for entry in await settle(volume.list("a", depth=2))), ["/a/b", "/a/b/c"])
        changed = await settle(volume.update_metadata("a/b/c", uid=1000, gid=1000, mode=0o640))
        equal((changed.uid, changed.gid, changed.mode & 0o777), (1000, 1000, 0o640))
        equal((await settle(volume.get_info("a/b/c"))).size, 1)
        await settle(volume.remove("a"))
        equal(await settle(volume.exists("a/b/c")), False)
        await raises("VolumePathNotFoundException", lambda: volume.read_file("a/b/c"))

    await with_volume(flavor, work)


async def check_sandboxes_share_a_volume(flavor, sandbox):
    async def work(volume):
        first = await settle(flavor.Sandbox.create(timeout=120, volume_mounts={"/data": volume}))
        second = await settle(flavor.Sandbox.create(timeout=120, volume_mounts={"/data": volume.name}))
        try:
            await settle(first.commands.run("echo inside > /data/inside"))
            equal(await settle(second.files.read("/data/inside")), "inside\n")
        finally:
            await settle(first.kill())
            await settle(second.kill())
        equal(await settle(volume.read_file("inside")), "inside\n")

    await with_volume(flavor, work)
