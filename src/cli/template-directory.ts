import { existsSync } from "node:fs";
import path from "node:path";
import { InvalidArgumentError, NotFoundError } from "../index.js";
import { readTemplateYaml, TEMPLATE_FILE, type TemplateYaml } from "./template-yaml.js";

/** A directory that a template is made from. */
export interface TemplateDirectory {
  readonly root: string;
  readonly name: string;
  readonly dockerfile: string;
  /** `undefined` where there is no template.yaml. */
  readonly yaml: TemplateYaml | undefined;
}

/**
 * Find what a template is made from. An option counts before template.yaml.
 *
 * @throws {@link InvalidArgumentError} nothing names the template, or template.yaml is malformed; {@link NotFoundError} there is no Dockerfile.
 */
export function openTemplateDirectory(
  name: string | undefined,
  options: { readonly path: string; readonly dockerfile?: string },
): TemplateDirectory {
  const root = path.resolve(options.path);
  const yaml = readTemplateYaml(path.join(root, TEMPLATE_FILE));
  const wanted = name ?? yaml?.name;
  if (wanted === undefined) throw new InvalidArgumentError(`give a name, or write one into ${path.join(root, TEMPLATE_FILE)}`);
  const dockerfile = path.join(root, options.dockerfile ?? yaml?.dockerfile ?? "Dockerfile");
  if (!existsSync(dockerfile)) throw new NotFoundError(`${dockerfile} does not exist; abx template init writes one`);
  return { root, name: wanted, dockerfile, yaml };
}
