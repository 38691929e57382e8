import { createHash } from "node:crypto";
import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import { findIdRange, type IdRange } from "../drivers/oci/id-range.js";
import { readTemplateLayers } from "../drivers/oci/template-layers.js";
import type { TemplateResolver } from "../template-resolver.js";
import { ContainerEngine, type RegistryLogin } from "./container-engine.js";
import { openDebianImage, toDebianSuite } from "./debian-image.js";
import type { LayerStore } from "./layer-store.js";
import type { TemplateStart } from "./template-store.js";

/** What a build begins with. */
export type BuildSource =
  | { readonly kind: "template"; readonly reference: string }
  | { readonly kind: "image"; readonly image: string; readonly login: RegistryLogin | undefined };

/** The layers that a build begins with. */
export interface BuildOrigin {
  /** Lowest first. */
  readonly layers: readonly string[];
  /** Equal for equal content. */
  readonly key: string;
  readonly hostIdBase: number;
  readonly start: TemplateStart | undefined;
  /** True for an image, which has none of what every template of ours has: the account `user`, name look-up, `node`. */
  readonly isForeign: boolean;
}

export interface BuildOriginParts {
  /** Snapshots included. */
  readonly templates: TemplateResolver;
  readonly layers: LayerStore;
  readonly onProgress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Images of the product whose wire this is, which are here templates. */
const IMAGES_OF_TEMPLATES: Readonly<Record<string, string>> = { "e2bdev/base": "base", "e2bdev/code-interpreter": "code-interpreter-v1" };

/**
 * Find or make the layers of a source.
 *
 * @throws {@link TemplateError} no such template; {@link FailedPreconditionError} the image cannot be had on this machine, the message
 * says what would help.
 */
export async function openOrigin(source: BuildSource, parts: BuildOriginParts): Promise<BuildOrigin> {
  if (source.kind === "template") return fromTemplate(source.reference, parts.templates);
  const image = source.image.trim();
  const template = IMAGES_OF_TEMPLATES[image.replace(/^docker\.io\//, "").replace(/:[^:/]*$/, "")];
  if (template !== undefined) return fromTemplate(template, parts.templates);
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/.test(image)) throw new InvalidArgumentError(`"${image}" is no name of an image`);

  const idRange = findIdRange("root");
  if (idRange === undefined) throw new FailedPreconditionError('there is no range of user ids for sandboxes; run "abx setup"');
  const engine = await ContainerEngine.find();
  if (engine !== undefined && (await engine.has(image))) return fromEngine(engine, image, idRange, parts);
  const suite = toDebianSuite(image);
  if (suite !== undefined) {
    parts.onProgress(`building ${image} from the package sources of this machine`);
    const { key, layer } = await openDebianImage(suite, { ...parts, idRange });
    return { layers: [layer], key, hostIdBase: idRange.base, start: undefined, isForeign: false };
  }
  if (engine === undefined) {
    throw new FailedPreconditionError(
      `the image ${image} needs podman, buildah or docker on the machine of the platform, and none works there; install podman (apt-get install podman), or start from a template (fromTemplate("base")) or from debian or ubuntu`,
    );
  }
  parts.onProgress(`pulling ${image} with ${engine.name}`);
  await engine.pull(image, source.login, parts.signal);
  return fromEngine(engine, image, idRange, parts);
}

function fromTemplate(reference: string, templates: TemplateResolver): BuildOrigin {
  const { templateId, buildId, dir, start } = templates.resolve(reference);
  const { lowerDirs, hostIdBase } = readTemplateLayers(dir);
  return {
    layers: lowerDirs,
    key: createHash("sha256").update(`${templateId}/${buildId}`).digest("hex"),
    hostIdBase,
    start,
    isForeign: false,
  };
}

async function fromEngine(engine: ContainerEngine, image: string, idRange: IdRange, parts: BuildOriginParts): Promise<BuildOrigin> {
  parts.onProgress(`unpacking ${image} from ${engine.name}`);
  const { key, layer, envs } = await engine.unpack(image, parts.layers, idRange, parts.signal);
  return { layers: [layer], key, hostIdBase: idRange.base, start: { envs }, isForeign: true };
}
