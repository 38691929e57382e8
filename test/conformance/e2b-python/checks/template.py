import asyncio
import os
import tempfile
import urllib.request
import uuid

from e2b import Template, wait_for_file

from .support import equal, raises, settle


async def remove(name):
    """The package has no call for it."""
    url = f"{os.environ['E2B_API_URL']}/templates/{name}"
    request = urllib.request.Request(url, method="DELETE", headers={"X-API-KEY": os.environ["E2B_API_KEY"]})
    await asyncio.to_thread(lambda: urllib.request.urlopen(request).close())


async def output_of(flavor, template, command):
    sandbox = await settle(flavor.Sandbox.create(template, timeout=60))
    try:
        return (await settle(sandbox.commands.run(command))).stdout
    finally:
        await settle(sandbox.kill())


async def check_build_from_our_template(flavor, sandbox):
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as context:
        with open(os.path.join(context, "a.txt"), "w") as file:
            file.write("A")
        template = (
            Template(file_context_path=context)
            .from_template("base")
            .set_envs({"KIND": name})
            .set_workdir("/srv/app")
            .copy("a.txt", "files/")
            .run_cmd('echo "$KIND" > kind')
            .set_start_cmd("touch /tmp/up; sleep 600", wait_for_file("/tmp/up"))
        )
        lines = []
        build = await settle(flavor.Template.build(template, f"{name}:v1", on_build_logs=lambda line: lines.append(line.message)))
    assert any("RUN echo" in line for line in lines), lines
    equal(await output_of(flavor, f"{name}:v1", "pwd; cat kind files/a.txt; ls /tmp/up"), f"/srv/app\n{name}\nA/tmp/up\n")
    equal(await settle(flavor.Template.exists(name)), True)
    equal(await settle(flavor.Template.exists(f"{name}-not")), False)
    await settle(flavor.Template.assign_tags(f"{name}:v1", ["stable", "other"]))
    await settle(flavor.Template.remove_tags(name, "other"))
    tags = await settle(flavor.Template.get_tags(build.template_id))
    equal(sorted(tag.tag for tag in tags), ["stable", "v1"])
    await raises("TemplateException", lambda: flavor.Template.remove_tags(name, "default"))
    await remove(name)


async def check_build_in_background(flavor, sandbox):
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    template = Template().from_template("base").run_cmd("true")
    build = await settle(flavor.Template.build_in_background(template, name))
    while True:
        status = await settle(flavor.Template.get_build_status(build, logs_offset=0))
        state = getattr(status.status, "value", status.status)
        assert state != "error", status
        if state == "ready":
            break
    await remove(name)


async def check_a_failing_step(flavor, sandbox):
    template = Template().from_template("base").run_cmd("exit 7")
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    await raises("BuildException", lambda: flavor.Template.build(template, name), "7")
    await remove(name)


async def check_steps_that_make_move_and_remove_files(flavor, sandbox):
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as context:
        with open(os.path.join(context, "a.txt"), "w") as file:
            file.write("A")
        template = (
            Template(file_context_path=context)
            .from_base_image()
            .set_user("user")
            .set_workdir("/srv/steps")
            .copy_items([{"src": "a.txt", "dest": "one"}, {"src": "a.txt", "dest": "two"}])
            .skip_cache()
            .make_dir("made")
            .make_symlink("../moved", "made/link")
            .rename("one", "moved")
            .remove("two")
            .set_ready_cmd("test -e /srv/steps/moved")
        )
        await settle(flavor.Template.build(template, name))
    equal(await output_of(flavor, name, "ls /srv/steps; cat /srv/steps/made/link"), "made\nmoved\nA")
    await remove(name)


async def check_a_dockerfile_and_the_forms_of_a_template(flavor, sandbox):
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    template = Template().from_dockerfile("FROM e2bdev/base\nENV A=1\nRUN echo \"$A\" > /home/user/b\n")
    await settle(flavor.Template.build(template, name))
    equal(await output_of(flavor, name, "cat /home/user/b"), "1\n")
    await remove(name)
    image = Template().from_debian_image("12").run_cmd("true")
    assert Template.to_dockerfile(image).startswith("FROM debian:12"), Template.to_dockerfile(image)
    assert "debian:12" in Template.to_json(image)
