/** The demand of a registry for a token. It does not decide where a password goes. */
export interface BearerChallenge {
  readonly realm: string;
  readonly service: string | null;
}

export interface TokenServiceRules {
  /** `scheme://host:port` of the registry. */
  readonly registry: string;
  /** `scheme://host:port` of its token service where that is another one, or `null`. */
  readonly tokenService: string | null;
  readonly hasCredentials: boolean;
  readonly allowOtherOrigins: boolean;
}

/**
 * One challenge or one of its parameters. Source: RFC 9110, sections 5.6.2, 5.6.4 and 11.3.
 */
const PART = /[\s,]*([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+)))?/y;

/**
 * Reads the fields `WWW-Authenticate` of an answer: the first challenge for a bearer token among them.
 *
 * @param field the fields, joined with commas
 * @returns `null` when none wants a bearer token, or it names no token service
 *
 * Source: RFC 6750, section 3; RFC 9110, section 11.6.1.
 */
export function parseChallenge(field: string): BearerChallenge | null {
  const bearer = challengesOf(field).find(({ scheme }) => scheme === 'bearer');
  const realm = bearer?.parameters.get('realm');
  return realm === undefined ? null : { realm, service: bearer?.parameters.get('service') ?? null };
}

/** Whether the fields `WWW-Authenticate` of an answer want a name and a password. */
export function wantsPassword(field: string): boolean {
  return challengesOf(field).some(({ scheme }) => scheme === 'basic');
}

interface Challenge {
  readonly scheme: string;
  /** By name in lower case; of a repeated one the first value. */
  readonly parameters: Map<string, string>;
}

function challengesOf(field: string): readonly Challenge[] {
  const found: Challenge[] = [];
  PART.lastIndex = 0;
  for (let match = PART.exec(field); match !== null; match = PART.exec(field)) {
    const [, name = '', quoted, plain] = match;
    const key = name.toLowerCase();
    const value = quoted?.replaceAll(/\\(.)/gs, '$1') ?? plain;
    if (value === undefined) found.push({ scheme: key, parameters: new Map() });
    else {
      const { parameters } = found.at(-1) ?? { parameters: new Map<string, string>() };
      if (!parameters.has(key)) parameters.set(key, value);
    }
  }
  return found;
}

type TokenServiceChoice =
  /** `isOwn`: it belongs to the registry, and gets the name and the password. */
  | { readonly ok: true; readonly url: URL; readonly isOwn: boolean }
  /** One sentence that says why it is not asked. */
  | { readonly ok: false; readonly problem: string };

/**
 * Decides whether the token service that a registry names is asked, and whether it gets the configured name and password. It gets
 * them when it has the origin of the registry or the configured one. Without credentials any other one may be asked, as
 * redirects may lead there. Never over http where the registry is https.
 */
export function chooseTokenService(realm: string, rules: TokenServiceRules): TokenServiceChoice {
  const shown = JSON.stringify(realm.length > 200 ? `${realm.slice(0, 199)}…` : realm);
  const refuse = (problem: string): TokenServiceChoice => ({
    ok: false,
    problem: `${rules.registry} names the token service ${shown}, ${problem}`,
  });
  const url = URL.canParse(realm) ? new URL(realm) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return refuse('which is not an http(s) URL');
  if (url.protocol === 'http:' && rules.registry.startsWith('https:'))
    return refuse('which is http although the registry is https: it is not asked');
  if (url.username !== '' || url.password !== '') return refuse('which holds a name or a password');
  const isOwn = url.origin === rules.registry || url.origin === rules.tokenService;
  if (isOwn || (!rules.hasCredentials && rules.allowOtherOrigins)) return { ok: true, url, isOwn };
  return refuse(
    `which is another origin, and is not asked; if it belongs to the registry, set upstream.oci.tokenService to ${url.origin}`,
  );
}
