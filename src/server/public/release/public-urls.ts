/** All URLs in the answers of the service. They come only from the configuration, never from a request. */
export class PublicUrls {
  /** Scheme, host and port, without trailing slash. */
  readonly base: string;
  readonly cdnHost: string;

  constructor(base: string, cdnHost: string) {
    this.base = base;
    this.cdnHost = cdnHost;
  }

  /** Root of the immutable bytes of a release; no trailing slash. */
  releaseRoot(releaseId: string): string {
    return `${this.base}${this.releasePath(releaseId)}`;
  }

  /** The same without scheme and host. */
  releasePath(releaseId: string): string {
    return `/${this.cdnHost}/${releaseId}`;
  }

  route(path: `/${string}`): string {
    return `${this.base}${path}`;
  }
}
