import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { AlreadyExistsError, InvalidArgumentError } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeJson, writeOut } from "../output.js";
import { TEMPLATE_FILE } from "../template-yaml.js";

const NAME = /^[a-z0-9_-]{1,128}$/;

const DOCKERFILE = `# Each instruction is a step of the build, run inside a sandbox and kept as a layer.
FROM e2bdev/base
USER user
WORKDIR /home/user
RUN echo "made by a Dockerfile" > made.txt
`;

/** `abx template init`: never writes over a file. */
export async function runTemplateInitCommand(
  directory: string,
  options: { readonly name?: string; readonly json?: boolean },
): Promise<ExitCode> {
  const root = path.resolve(directory);
  const name =
    options.name ??
    path
      .basename(root)
      .toLowerCase()
      .replace(/[^a-z0-9_-]+/g, "-");
  if (!NAME.test(name)) throw new InvalidArgumentError(`"${name}" is no name of a template: use a-z, 0-9, - and _`);
  const yaml = `name: ${name}\nversion: 1.0.0\ndescription: ""\ncpu_count: 2\nmemory_mb: 1024\n`;
  await mkdir(root, { recursive: true });
  const written: string[] = [];
  for (const [file, text] of [[TEMPLATE_FILE, yaml] as const, ["Dockerfile", DOCKERFILE] as const]) {
    const target = path.join(root, file);
    try {
      await writeFile(target, text, { flag: "wx" });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
      throw new AlreadyExistsError(`${target} exists already`, { cause });
    }
    written.push(target);
  }
  if (options.json) await writeJson({ name, files: written });
  else await writeOut(`${written.map((file) => `wrote ${file}\n`).join("")}build it with: abx template build --path ${directory}\n`);
  return EXIT.ok;
}
