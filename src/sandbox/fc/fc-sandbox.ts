import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import { resolveConfig } from "../../transport/config.js";
import { openFcMounts, type SandboxParts } from "../open-sandbox.js";
import { type FactoryThis, Sandbox, type SandboxClass, type SandboxCreateOptions } from "../sandbox.js";
import { type FcExtensions, toFcMetadata } from "./extensions.js";
import { FcMounts } from "./fc-mounts.js";

/** How a sandbox of the FC service is made. */
export interface FcSandboxCreateOptions extends SandboxCreateOptions {
  /** Features of the cloud; they become metadata with names that begin with `fc.`. */
  readonly extensions?: FcExtensions | undefined;
}

/** A sandbox of the FC service, with what that adds: storage that is mounted later, and extensions at its creation. */
export class FcSandbox extends Sandbox {
  readonly mounts: FcMounts;

  constructor(parts: SandboxParts) {
    super(parts);
    this.mounts = new FcMounts(openFcMounts(parts.platform), parts.access.sandboxId);
  }

  /**
   * Make a sandbox; see {@link Sandbox.create}. A life is at least 60 seconds here, and a first start may take 90, so `requestTimeoutMs` is
   * 180_000 unless it is given.
   *
   * @throws {@link InvalidArgumentError} an extension is malformed or misses another; {@link FailedPreconditionError} the settings are not of
   * the FC service: pass those of `fcConnection`.
   */
  static override create<T extends Sandbox = FcSandbox>(
    this: FactoryThis<T>,
    options?: FcSandboxCreateOptions,
  ): Promise<T & AsyncDisposable>;
  static override create<T extends Sandbox = FcSandbox>(
    this: FactoryThis<T>,
    template: string,
    options?: FcSandboxCreateOptions,
  ): Promise<T & AsyncDisposable>;
  static override async create<T extends Sandbox = FcSandbox>(
    this: FactoryThis<T>,
    templateOrOptions?: string | FcSandboxCreateOptions,
    more?: FcSandboxCreateOptions,
  ): Promise<T & AsyncDisposable> {
    const given = typeof templateOrOptions === "string" ? { ...more, template: templateOrOptions } : (templateOrOptions ?? more ?? {});
    const { extensions, ...options } = given;
    const metadata = withExtensions(options.metadata, extensions);
    if (resolveConfig(options).service !== "fc") {
      throw new FailedPreconditionError("FcSandbox needs the FC service: pass { ...fcConnection({ region }) } with the options");
    }
    // biome-ignore lint/complexity/noThisInStatic: a derived class makes its own instances; off its class, T is FcSandbox by default
    const Class = this ?? (FcSandbox as unknown as SandboxClass<T>);
    return Sandbox.create.call<SandboxClass<T>, [FcSandboxCreateOptions], Promise<T & AsyncDisposable>>(Class, { ...options, metadata });
  }

  /** Headers that a request to a port needs when `network.allowPublicTraffic` is false; empty where the host name is enough. */
  get trafficHeaders(): Readonly<Record<string, string>> {
    const token = this.trafficAccessToken;
    return token === undefined ? {} : { "e2b-traffic-access-token": token };
  }
}

function withExtensions(
  metadata: Readonly<Record<string, string>> | undefined,
  extensions: FcExtensions | undefined,
): Readonly<Record<string, string>> | undefined {
  if (extensions === undefined) return metadata;
  const made = toFcMetadata(extensions);
  const twice = Object.keys(made).find((key) => metadata !== undefined && Object.hasOwn(metadata, key));
  if (twice !== undefined) throw new InvalidArgumentError(`${twice} stands both in metadata and in extensions: leave one out`);
  return { ...metadata, ...made };
}
