/** The route that a request target names. */
export type ApiRoute =
  | { readonly kind: 'health' | 'readiness' | 'attestation' | 'damage' }
  | { readonly kind: 'report' | 'control'; readonly name: string };

/** A parsed request target. */
interface ApiTarget {
  /** `null` when the path is unknown. */
  readonly route: ApiRoute | null;
  readonly query: URLSearchParams;
}

const PREFIXES = [
  ['/v1/reports/', 'report'],
  ['/v1/control/', 'control'],
] as const;

const PATHS: ReadonlyMap<string, ApiRoute> = new Map([
  ['/healthz', { kind: 'health' }],
  ['/readyz', { kind: 'readiness' }],
  ['/v1/attestation', { kind: 'attestation' }],
  ['/v1/damage', { kind: 'damage' }],
]);

/** The methods of each kind of route, for the `Allow` header. */
export const ROUTE_METHODS: Readonly<Record<ApiRoute['kind'], readonly string[]>> = {
  health: ['GET', 'HEAD'],
  readiness: ['GET', 'HEAD'],
  attestation: ['GET', 'HEAD'],
  damage: ['POST'],
  report: ['GET', 'HEAD'],
  control: ['POST'],
};

/**
 * Finds the route of a request target. Names are compared as sent, because none needs percent-encoding.
 *
 * @param target in origin form
 */
export function parseTarget(target: string): ApiTarget {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  return { route: routeOf(path), query: new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1)) };
}

function routeOf(path: string): ApiRoute | null {
  for (const [prefix, kind] of PREFIXES) {
    const name = path.startsWith(prefix) ? path.slice(prefix.length) : '';
    if (name !== '' && !name.includes('/')) return { kind, name };
  }
  return PATHS.get(path) ?? null;
}
