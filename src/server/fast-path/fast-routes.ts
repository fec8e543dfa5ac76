import type { Answer } from '../http/answer.ts';

/** A request for a route beside resource bytes. */
export interface FastRequest {
  /** Not decoded, without the `?`. */
  readonly query: string;
  /** The `Authorization` field. */
  readonly authorization: string | undefined;
  readonly via: string | undefined;
  /** Address of the client. */
  readonly source: string;
  /** That of the client, or a new one. */
  requestId(): string;
  /** Aborted when the client has gone. */
  signal(): AbortSignal;
}

/** A route whose answers to GET are small, and which never throws. */
export interface FastRoute {
  /** Its label in log and metrics. */
  readonly route: string;
  answer(request: FastRequest): Answer | Promise<Answer>;
}

/** Routes by their paths. */
export type FastRoutes = ReadonlyMap<string, FastRoute>;

/**
 * Finds the route of a target.
 *
 * @returns `null` when another part answers it
 */
export function findFastRoute(
  routes: FastRoutes,
  target: string,
): { readonly route: FastRoute; readonly query: string } | null {
  const mark = target.indexOf('?');
  const route = routes.get(mark === -1 ? target : target.slice(0, mark));
  return route === undefined ? null : { route, query: mark === -1 ? '' : target.slice(mark + 1) };
}
