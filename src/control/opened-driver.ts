import type { Driver, Instance, InstanceSpec, IsolationReport } from "./drivers/driver.js";

/**
 * Opens a driver when it is first needed and again after a failure, so that a machine that was set up meanwhile needs no restart of the
 * platform.
 */
export class OpenedDriver {
  readonly #driver: Driver;
  #opening: Promise<unknown> | undefined;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  async create(spec: InstanceSpec): Promise<Instance> {
    await this.#open();
    return this.#driver.create(spec);
  }

  async list(): ReturnType<Driver["list"]> {
    await this.#open();
    return this.#driver.list();
  }

  /** Of an instance, or without an id of the next one. */
  async isolation(id?: string): Promise<IsolationReport> {
    await this.#open();
    return this.#driver.isolation(id);
  }

  async usage(...args: Parameters<Driver["usage"]>): ReturnType<Driver["usage"]> {
    await this.#open();
    return this.#driver.usage(...args);
  }

  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #open(): Promise<void> {
    this.#opening ??= this.#driver.open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await this.#opening;
  }
}
