import { InvalidArgumentError, NotFoundError } from "../../index.js";
import { type FcTemplateSpec, readFcSettings } from "../../sandbox/fc/index.js";
import type { EngineName } from "../../shared/container-engines-node.js";
import { openTemplateDirectory } from "../template-directory.js";
import { TEMPLATE_FILE, type TemplateYaml } from "../template-yaml.js";
import type { ImageBuild } from "./image-engine.js";

/** Options of `abx template deploy`. */
export interface DeployOptions {
  readonly path: string;
  readonly dockerfile?: string;
  readonly buildArg?: Readonly<Record<string, string>>;
  readonly engine?: EngineName;
  readonly platform: string;
  readonly image?: string;
  readonly acrRegistry?: string;
  readonly acrNamespace?: string;
  readonly acrRepo?: string;
  readonly acrUsername?: string;
  readonly acreeInstanceId?: string;
  readonly tag?: string;
  readonly pullAs?: string;
  readonly targetImage?: string;
  readonly envdInject?: boolean;
  readonly region?: string;
  readonly teamId?: string;
  readonly cpuCount?: number;
  readonly memoryMb?: number;
  readonly generation?: number;
  readonly cmd?: string;
  readonly readyCmd?: string;
  readonly internetAccess?: boolean;
  readonly vpcId?: string;
  readonly vswitchIds?: readonly string[];
  readonly securityGroupId?: string;
}

/** Everything that a deployment does, before anything is done. */
export interface DeployPlan {
  readonly build: ImageBuild;
  /** Variables that become part of the image. */
  readonly envs: Readonly<Record<string, string>>;
  readonly login: { readonly username: string; readonly password: string } | undefined;
  readonly region: string | undefined;
  readonly spec: FcTemplateSpec;
}

const DEFAULT_CPU = 2;
const DEFAULT_MEMORY_MB = 2048;
/** Micro virtual machines need an image that is made for them. */
const DEFAULT_GENERATION = 1;
const REFERENCE = /^[a-z0-9.-]+(:\d+)?\/[a-z0-9._/-]+:[\w][\w.-]{0,127}$/;

/**
 * Put options, environment and template.yaml together, in this order.
 *
 * @throws {@link InvalidArgumentError} something is missing or malformed; {@link NotFoundError} there is no Dockerfile.
 */
export function toDeployPlan(name: string | undefined, options: DeployOptions): DeployPlan {
  const { root: context, name: template, dockerfile, yaml } = openTemplateDirectory(name, options);
  if (Object.keys(yaml?.customCommands ?? {}).length > 0) {
    throw new InvalidArgumentError(`${TEMPLATE_FILE}: custom_commands are for abx template build; an image brings its commands itself`);
  }
  const image = toImage(template, options, yaml);
  const username = options.acrUsername ?? process.env.ACR_USERNAME;
  const password = process.env.ACR_PASSWORD;
  if (username !== undefined && !password) throw new InvalidArgumentError("the password of the registry is read from ACR_PASSWORD");
  return {
    build: { image, context, dockerfile, platform: options.platform, buildArgs: options.buildArg ?? {} },
    envs: yaml?.envs ?? {},
    login: username !== undefined && password !== undefined ? { username, password } : undefined,
    region: options.region,
    spec: toSpec(template, options.pullAs ?? image, options, yaml),
  };
}

function toImage(template: string, options: DeployOptions, yaml: TemplateYaml | undefined): string {
  const registry = options.acrRegistry ?? process.env.ACR_REGISTRY;
  const namespace = options.acrNamespace ?? process.env.ACR_NAMESPACE;
  const tag = options.tag ?? yaml?.tags[0] ?? "latest";
  if (options.image === undefined && (registry === undefined || namespace === undefined)) {
    throw new InvalidArgumentError(
      "say where the image goes: --image, or --acr-registry and --acr-namespace (ACR_REGISTRY, ACR_NAMESPACE)",
    );
  }
  const image = options.image ?? `${registry}/${namespace}/${options.acrRepo ?? template}:${tag}`;
  if (!REFERENCE.test(image)) throw new InvalidArgumentError(`the image must be registry/namespace/name:tag, not ${image}`);
  return image;
}

function toSpec(name: string, image: string, options: DeployOptions, yaml: TemplateYaml | undefined): FcTemplateSpec {
  const generation = options.generation ?? yaml?.generation ?? DEFAULT_GENERATION;
  if (generation !== 1 && generation !== 2) throw new InvalidArgumentError(`the generation must be 1 or 2, not ${generation}`);
  const startCommand = options.cmd ?? yaml?.startCommand;
  const readyCommand = options.readyCmd ?? yaml?.readyCommand;
  const teamID = options.teamId ?? readFcSettings().teamId;
  const { internetAccess, acreeInstanceId, targetImage } = options;
  const registry = acreeInstanceId !== undefined && { registryType: "acree", acrInstanceId: acreeInstanceId };
  return {
    name,
    ...(teamID !== undefined && { teamID }),
    runtimeConfig: {
      cpu: options.cpuCount ?? yaml?.cpuCount ?? DEFAULT_CPU,
      memorySize: options.memoryMb ?? yaml?.memoryMB ?? DEFAULT_MEMORY_MB,
      ...(internetAccess !== undefined && { internetAccess }),
      ...toVpc(options),
      sandboxConfig: {
        image: targetImage ?? image,
        generation,
        ...registry,
        ...(startCommand !== undefined && { startCommand }),
        ...(readyCommand !== undefined && { readyCommand }),
      },
    },
    ...toBuildConfig(image, options, registry || {}),
  };
}

/** Left out unless something was said, since the service then tells its own images from others by itself. */
function toBuildConfig(source: string, { targetImage, envdInject }: DeployOptions, registry: object): Pick<FcTemplateSpec, "buildConfig"> {
  if (targetImage === undefined && envdInject === undefined) return {};
  if (envdInject && targetImage === undefined)
    throw new InvalidArgumentError("--envd-inject changes the image, so it needs --target-image");
  if (targetImage === source) throw new InvalidArgumentError("--target-image must be another image than the one that is pushed");
  const copy = targetImage === undefined ? { enabled: false } : { enabled: true, image: source, ...registry };
  return { buildConfig: { copy, envdInject: { enabled: envdInject ?? false } } };
}

function toVpc({ vpcId, vswitchIds, securityGroupId }: DeployOptions): Pick<FcTemplateSpec["runtimeConfig"], "vpcConfig"> {
  if (vpcId === undefined && vswitchIds === undefined && securityGroupId === undefined) return {};
  if (vpcId === undefined || vswitchIds === undefined || securityGroupId === undefined) {
    throw new InvalidArgumentError("--vpc-id, --vswitch-ids and --security-group-id belong together");
  }
  return { vpcConfig: { vpcId, vSwitchIds: [...vswitchIds], securityGroupId } };
}
