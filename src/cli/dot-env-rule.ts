import { FailedPreconditionError } from "../index.js";
import { configFilePath, readConfigFileFrom } from "../shared/config-file-node.js";
import { VARIABLES } from "../transport/config.js";
import type { DotEnv } from "./dot-env.js";

/** A credential and the addresses that it is sent to. */
interface Bond {
  /** Variables that make up a credential; the first that are all set are the one that counts. */
  readonly keys: readonly (readonly string[])[];
  /** Variables of each address, strongest first. */
  readonly addresses: readonly (readonly string[])[];
}

const PROXY: Bond["addresses"] = [VARIABLES.proxy];
const SERVICE: Bond = {
  keys: VARIABLES.api_key.map((name) => [name]),
  addresses: [VARIABLES.api_url, VARIABLES.sandbox_url, VARIABLES.volume_url, VARIABLES.domain, ...PROXY],
};
const ACCOUNT: Bond = {
  keys: [
    ["ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
    ["ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET"],
  ],
  addresses: [["FCSANDBOX_ENDPOINT"]],
};
const REGISTRY: Bond = { keys: [["ACR_PASSWORD"]], addresses: [["ACR_REGISTRY"]] };

const DEPLOY = "template deploy";
/** They send no key to a server. */
const LOCAL = /^(setup|doctor|serve|completion|config .*|mcp install|template init|system (prune|version))$/;

/**
 * Let an address of `.env` have no key but one of the same file. Whoever made the working directory wrote that file, and an address of theirs
 * would be told the key of the user.
 *
 * @throws {@link FailedPreconditionError} `command` would send a key to an address of `.env` that is not of `.env`.
 */
export function refuseForeignKey(command: string, dotEnv: DotEnv): void {
  if (dotEnv.names.size === 0 || LOCAL.test(command)) return;
  if (command === DEPLOY) {
    // Without a credential of the user nothing is told to anybody.
    for (const bond of [ACCOUNT, REGISTRY]) if (keyOf(bond) !== undefined) check(bond.addresses, keyOf(bond) ?? [], dotEnv);
    return;
  }
  const file = readConfigFileFrom(process.env);
  const platform = settingOf(VARIABLES.platform[0]) ?? file.platform;
  // The key of the local platform is none of .env, and its address neither; a proxy would see both.
  if (platform === "local") check(PROXY, "the key is that of the platform of this machine", dotEnv);
  else {
    const inFile = file.api_key ? `the key is api_key of ${configFilePath(process.env)}` : "no key is set";
    check(SERVICE.addresses, keyOf(SERVICE) ?? inFile, dotEnv);
  }
}

/** @param key the variables of the key, or a sentence about one that comes from elsewhere. */
function check(addresses: Bond["addresses"], key: readonly string[] | string, { file, names }: DotEnv): void {
  const address = addresses
    .map((variables) => variables.find((name) => settingOf(name) !== undefined))
    .find((name) => name !== undefined && names.has(name));
  if (address === undefined) return;
  const foreign = typeof key === "string" ? key : key.filter((name) => !names.has(name)).map((name) => `${name} is of the environment`)[0];
  if (foreign === undefined) return;
  throw new FailedPreconditionError(
    `${address} is of ${file}, but ${foreign}: an address in .env is used only with a key in the same file, as it would be told the key; ` +
      `set ${address} in the environment if you trust it, write the key into .env too and unset it elsewhere, or take ${address} out of .env`,
  );
}

function keyOf({ keys }: Bond): readonly string[] | undefined {
  return keys.find((variables) => variables.every((name) => settingOf(name) !== undefined));
}

/** Empty counts as absent, as for those who use it. */
function settingOf(name: string): string | undefined {
  return process.env[name]?.trim() || undefined;
}
