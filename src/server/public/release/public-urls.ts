/** All URLs in the answers of the service. They come only from the configuration, never from a request. */
export interface PublicUrls {
  /** Scheme, host and port. */
  readonly base: string;
  /** The fixed first segment of resource paths. */
  readonly cdnHost: string;
  /** Root of the immutable bytes of a release; no trailing slash. */
  releaseRoot(releaseId: string): string;
  /** The same without scheme and host. */
  releasePath(releaseId: string): string;
  /** A route of this service. */
  route(path: `/${string}`): string;
}

/**
 * Makes the URLs of one service.
 *
 * @param publicBaseUrl scheme, host and port, without trailing slash
 * @param cdnHost the fixed first segment of resource paths
 */
export function createPublicUrls(publicBaseUrl: string, cdnHost: string): PublicUrls {
  const releasePath = (releaseId: string): string => `/${cdnHost}/${releaseId}`;
  return {
    base: publicBaseUrl,
    cdnHost,
    releasePath,
    releaseRoot: (releaseId) => `${publicBaseUrl}${releasePath(releaseId)}`,
    route: (path) => `${publicBaseUrl}${path}`,
  };
}
