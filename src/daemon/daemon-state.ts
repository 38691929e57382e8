import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Complaints } from "./complaints.js";
import { Egress, type EgressOptions, type EgressSetup } from "./egress/egress.js";
import { openUserDatabase, type UserDatabase } from "./user-database.js";

/** Version of the envd wire that the daemon speaks; clients enable features by it. */
export const ENVD_VERSION = "0.6.13";

/** What one `POST /init` asks for; an absent field means the contract's default, not "unchanged". */
export interface InitRequest {
  readonly accessToken?: string | undefined;
  /** Replaces the whole set that an earlier call gave. */
  readonly envVars?: Readonly<Record<string, string>> | undefined;
  readonly defaultUser?: string | undefined;
  readonly defaultWorkdir?: string | undefined;
  /** When the control plane made the request; a call older than the last one changes nothing. */
  readonly timestamp?: Date | undefined;
  readonly sandboxId?: string | undefined;
  readonly templateId?: string | undefined;
  /** The way out; absent closes it. */
  readonly egress?: EgressSetup | undefined;
}

export interface DaemonStateOptions {
  /** Accounts of the sandbox. @defaultValue those of `/etc` */
  readonly users?: UserDatabase;
  /** Account of requests that name none, until `/init` says otherwise. @defaultValue "user" */
  readonly defaultUser?: string;
  /** Where programs inside look up what the sandbox is. @defaultValue "/run/e2b" */
  readonly factsDirectory?: string;
  /** Where the way out is offered. @defaultValue nowhere: programs use whatever network there is */
  readonly egress?: EgressOptions;
}

/** What the control plane told this daemon. One writer, `POST /init`; everything else reads. */
export class DaemonState {
  readonly users: UserDatabase;
  /** The way out; `undefined` where the sandbox has a network of its own. */
  readonly egress: Egress | undefined;
  readonly complaints = new Complaints();
  readonly #factsDirectory: string;
  readonly #systemVars = new Map<string, string>([["E2B_SANDBOX", "true"]]);
  #userVars: ReadonlyMap<string, string> = new Map();
  #accessToken: string | undefined;
  #defaultUser: string;
  #defaultWorkdir: string | undefined;
  #lastTimestampMs = Number.NEGATIVE_INFINITY;
  readonly #publishedFacts = new Map<string, string>();

  constructor(options: DaemonStateOptions = {}) {
    this.users = options.users ?? openUserDatabase();
    this.egress = options.egress === undefined ? undefined : new Egress(options.egress, (text) => this.complaints.add(text));
    this.#defaultUser = options.defaultUser ?? "user";
    this.#factsDirectory = options.factsDirectory ?? "/run/e2b";
  }

  /** Token that requests must present; `undefined` leaves the sandbox open. */
  get accessToken(): string | undefined {
    return this.#accessToken;
  }

  /** Account of requests that name none. */
  get defaultUser(): string {
    return this.#defaultUser;
  }

  /** Where an empty path leads; `undefined`: the home of the user. */
  get defaultWorkdir(): string | undefined {
    return this.#defaultWorkdir;
  }

  /** Variables of every process; those that describe the sandbox win over those of the user. */
  get envVars(): ReadonlyMap<string, string> {
    return new Map([...this.#userVars, ...this.#systemVars]);
  }

  /** Variables of every process that give way to all others. */
  get defaultVars(): ReadonlyMap<string, string> {
    return this.egress?.env ?? new Map();
  }

  /** Apply an authorised `/init`. Returns false when its timestamp is older than the last one and nothing changed. */
  apply(request: InitRequest): boolean {
    if (request.timestamp !== undefined) {
      const timestampMs = request.timestamp.getTime();
      if (timestampMs < this.#lastTimestampMs) return false;
      this.#lastTimestampMs = timestampMs;
    }
    this.#accessToken = request.accessToken || undefined;
    if (request.envVars !== undefined) this.#userVars = new Map(Object.entries(request.envVars));
    if (request.defaultUser) this.#defaultUser = request.defaultUser;
    if (request.defaultWorkdir !== undefined) this.#defaultWorkdir = request.defaultWorkdir || undefined;
    if (request.sandboxId) this.#systemVars.set("E2B_SANDBOX_ID", request.sandboxId);
    if (request.templateId) this.#systemVars.set("E2B_TEMPLATE_ID", request.templateId);
    this.egress?.configure(request.egress);
    this.#publishFacts();
    return true;
  }

  /** One file per fact, for programs that do not get the environment (cron jobs, `sudo`). */
  #publishFacts(): void {
    try {
      for (const [name, value] of this.#systemVars) {
        if (this.#publishedFacts.get(name) === value) continue;
        mkdirSync(this.#factsDirectory, { recursive: true, mode: 0o755 });
        writeFileSync(join(this.#factsDirectory, `.${name}`), value, { mode: 0o644 });
        this.#publishedFacts.set(name, value);
      }
    } catch {
      // A read-only or full /run costs the convenience, not the sandbox.
    }
  }
}
