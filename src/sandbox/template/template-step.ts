/** How files are copied. */
export interface CopyOptions {
  /** Upload the files even where the server has them already. */
  readonly forceUpload?: true;
  /** Owner inside, `name` or `name:group`. @defaultValue the user of the step */
  readonly user?: string;
  /** Permission bits of every file and directory. @defaultValue as they are */
  readonly mode?: number;
  /** Copy what links lead to in their place. @defaultValue false: links stay links */
  readonly resolveSymlinks?: boolean;
  /** Compress the upload. @defaultValue true */
  readonly gzip?: boolean;
}

/** One step of a template, before its files are looked at. */
export interface TemplateStep {
  readonly type: "COPY" | "RUN" | "ENV" | "WORKDIR" | "USER";
  readonly args: readonly string[];
  readonly force: boolean;
  /** Only of COPY. */
  readonly copy?: Pick<CopyOptions, "forceUpload" | "resolveSymlinks" | "gzip">;
  /** Where the builder was called, for errors. */
  readonly stack: string | undefined;
}

/** Name and password for the registry of an image, in one of three forms. */
export type RegistryConfig =
  | { readonly type: "registry"; readonly username: string; readonly password: string }
  | { readonly type: "aws"; readonly awsAccessKeyId: string; readonly awsSecretAccessKey: string; readonly awsRegion: string }
  | { readonly type: "gcp"; readonly serviceAccountJson: string };

/** What a template begins with. */
export type TemplateSource =
  | { readonly fromImage: string; readonly fromImageRegistry?: RegistryConfig | undefined }
  | { readonly fromTemplate: string };

/** Everything that a builder gathered. */
export interface TemplateDefinition {
  readonly source: TemplateSource;
  readonly steps: readonly TemplateStep[];
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
  /** Take nothing from the cache. */
  readonly force: boolean;
  readonly contextPath: string | undefined;
  readonly ignorePatterns: readonly string[];
  /** Where the template was begun: its directory is the default context. */
  readonly stack: string | undefined;
}
