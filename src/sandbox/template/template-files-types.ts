/** The files of one COPY step. */
export interface CopySource {
  /** Relative to the context directory; may be a pattern. */
  readonly source: string;
  readonly destination: string;
  readonly resolveSymlinks: boolean;
}

/** An archive that is ready to be sent. */
export interface CopyArchive {
  readonly sizeBytes: number;
  read(): AsyncIterable<Uint8Array>;
  /** Remove what it took on this machine. */
  dispose(): Promise<void>;
}

/** The context directory of one template. */
export interface TemplateContext {
  /** 64 hexadecimal digits that change with names, modes and contents, and with nothing else. */
  hash(copy: CopySource): Promise<string>;
  /** A tar archive of the files, with paths relative to the context. */
  pack(copy: CopySource, options: { readonly gzip: boolean }): Promise<CopyArchive>;
}

/** What a context is opened with. */
export interface TemplateContextOptions {
  /** @defaultValue the directory of the program that began the template */
  readonly contextPath: string | undefined;
  readonly ignorePatterns: readonly string[];
  /** Stack of the call that began the template. */
  readonly stack: string | undefined;
}
