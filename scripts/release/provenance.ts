/** How a release was built. */
export interface ReleaseBuild {
  readonly version: string;
  /** Digest of the commit. */
  readonly commit: string;
  /** Address of the repository. */
  readonly source: string;
  /** Name of the base image, and its digest if the builder knows it. */
  readonly baseImage: { readonly name: string; readonly digest?: string };
  /** Registry that charts and manifests name; empty without one. */
  readonly registry: string;
  readonly dockerFlags: readonly string[];
  /** SHA-256 of package-lock.json. */
  readonly lockFile: string;
  /** Who ran the build: the address of a workflow's run, or of a person's machine. */
  readonly builder: string;
  readonly startedOn: string;
  readonly finishedOn: string;
}

const BUILD_TYPE = 'https://slipway.dev/make-release/v1';

/**
 * The statement of what was built from which commit. Builder, times and base image are those of the machine that completed the
 * release; images of other platforms came there from machines that it does not name, proved to be of the same commit by their label.
 *
 * @param files SHA-256 of each file of the release, by name
 * @see https://slsa.dev/spec/v1.1/provenance and https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
 */
export function provenanceOf(build: ReleaseBuild, files: ReadonlyMap<string, string>): object {
  const { baseImage } = build;
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...files].map(([name, sha256]) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: {
          version: build.version,
          baseImage: baseImage.name,
          registry: build.registry,
          dockerFlags: build.dockerFlags,
        },
        internalParameters: {},
        resolvedDependencies: [
          { uri: `git+${build.source}`, digest: { gitCommit: build.commit } },
          { name: 'package-lock.json', digest: { sha256: build.lockFile } },
          {
            uri: `docker://${baseImage.name}`,
            ...(baseImage.digest === undefined ? {} : { digest: { sha256: baseImage.digest } }),
          },
        ],
      },
      runDetails: {
        builder: { id: build.builder },
        metadata: { startedOn: build.startedOn, finishedOn: build.finishedOn },
      },
    },
  };
}
