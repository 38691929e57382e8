import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { InvalidArgumentError } from "../../index.js";

/** A Dockerfile for the time of a build. */
export interface BuildFile extends AsyncDisposable {
  readonly file: string;
}

/** The Dockerfile with the variables of the template as its last instructions; the file itself where there are none. */
export async function withEnvs(dockerfile: string, envs: Readonly<Record<string, string>>): Promise<BuildFile> {
  const lines = Object.entries(envs).map(([name, value]) => `ENV ${name}="${quote(name, value)}"\n`);
  if (lines.length === 0) return { file: dockerfile, [Symbol.asyncDispose]: async () => undefined };
  const directory = await mkdtemp(path.join(tmpdir(), "abx-deploy-"));
  const file = path.join(directory, "Dockerfile");
  await writeFile(file, `${await readFile(dockerfile, "utf8")}\n${lines.join("")}`);
  return { file, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

function quote(name: string, value: string): string {
  if (!/^[^\s="'\\]+$/.test(name)) throw new InvalidArgumentError(`env: ${JSON.stringify(name)} is no name that an image can have`);
  if (/[\r\n]/.test(value)) throw new InvalidArgumentError(`env.${name} must be one line to become part of an image`);
  return value.replace(/[\\"$]/g, "\\$&");
}
