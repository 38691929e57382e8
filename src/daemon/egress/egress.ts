import type { Duplex } from "node:stream";
import { Forwarder, type ForwarderOptions } from "./forwarder.js";
import { GuestFiles } from "./guest-files.js";
import { proxyEnvironment } from "./proxy-environment.js";

/** Host and port of the CONNECT by which the platform opens a channel; 0 is no port, so it is never a tunnel. */
export const EGRESS_TARGET = "egress:0";

/** What the platform says about the way out. */
export interface EgressSetup {
  /** PEM certificates to trust beside those of the template; may be empty. */
  readonly trustedCertificates: string;
}

export interface EgressOptions extends ForwarderOptions {
  /** Directory that stands for `/`, where settings for apt and sudo go. */
  readonly root: string;
}

/** The way out of this sandbox as programs inside see it: a proxy on the loopback interface, and the settings that lead to it. */
export class Egress {
  readonly #options: EgressOptions;
  readonly #forwarder: Forwarder;
  readonly #files: GuestFiles;
  #env: ReadonlyMap<string, string> = new Map();
  /** What was configured last; null before the first time, when a template may have brought settings along. */
  #applied: string | undefined | null = null;

  /** @param onFailure is told in words what does not work */
  constructor(options: EgressOptions, onFailure: (text: string) => void) {
    this.#options = options;
    this.#forwarder = new Forwarder(onFailure);
    this.#files = new GuestFiles(options.root);
  }

  /** Variables for every process; empty while there is no way out. */
  get env(): ReadonlyMap<string, string> {
    return this.#env;
  }

  /** Ports of the proxy, HTTP and SOCKS5; empty while there is no way out. */
  get ports(): readonly number[] {
    return this.#forwarder.ports;
  }

  /** Open the way out, change what it trusts, or close it. Programs that run already keep their variables. */
  configure(setup: EgressSetup | undefined): void {
    if (this.#applied === setup?.trustedCertificates) return;
    this.#applied = setup?.trustedCertificates;
    if (setup === undefined) {
      this.#forwarder.close();
      this.#files.remove();
      this.#env = new Map();
      return;
    }
    this.#forwarder.listen(this.#options);
    const { httpPort } = this.#options;
    const trust = this.#files.write(httpPort, setup.trustedCertificates);
    this.#env = proxyEnvironment({ httpPort, bundleFile: trust?.bundleFile, extraFile: trust?.extraFile });
  }

  /** Take a channel that the platform opened. */
  addChannel(channel: Duplex): void {
    channel.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    this.#forwarder.addChannel(channel);
  }

  close(): void {
    this.#forwarder.close();
  }
}
