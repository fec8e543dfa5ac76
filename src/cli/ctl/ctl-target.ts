import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import type { CtlIo, CtlProgram } from './ctl-context.ts';
import { textOption, type CtlArguments } from './ctl-options.ts';

/** The address without any option. */
const DEFAULT_URL = 'http://127.0.0.1:8080';

/** The options that lead through a cluster. */
export const CLUSTER_OPTIONS = ['kubectl', 'namespace', 'context', 'target', 'target-port'] as const;

/** The options that say which service is asked, and with which token. */
export const SERVICE_OPTIONS: ReadonlySet<string> = new Set([
  'url',
  'token-file',
  'token-secret',
  ...CLUSTER_OPTIONS,
]);

export interface CtlTarget {
  /** The URL; a placeholder while `service` is not forwarded yet. */
  readonly url: URL;
  /** Its target is `null` when the Service is to be found by the labels of the chart. */
  readonly service: { readonly target: string | null; readonly targetPort: string | null } | null;
}

/**
 * Finds out where the service is: at a URL, or behind the API server of a cluster.
 *
 * @throws CtlFailure
 */
export function targetOf(args: CtlArguments, { env }: CtlIo, program: CtlProgram): CtlTarget {
  const url = textOption(args, 'url');
  const asked = CLUSTER_OPTIONS.find((name) => args.values[name] !== undefined);
  if (url !== undefined && asked !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, `give either --url or --${asked}, not both`);
  }
  if (asked === undefined && (!program.plugin || url !== undefined)) {
    return { url: parseUrl(url ?? env['SLIPWAY_CTL_URL'] ?? DEFAULT_URL), service: null };
  }
  const target = textOption(args, 'target') ?? null;
  return {
    url: new URL(DEFAULT_URL),
    service: { target, targetPort: textOption(args, 'target-port') ?? null },
  };
}

/** Checks the URL of a service. @throws CtlFailure that does not repeat it: it may hold a password */
export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const usable =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  if (usable) return url;
  throw new CtlFailure(
    CTL_EXITS.usage,
    '--url: give an http or https URL without a user, query or fragment, for example https://resources.example.org',
  );
}

/** @returns `--token-secret`, or `null`. @throws CtlFailure */
export function secretOf(args: CtlArguments): string | null {
  const secret = textOption(args, 'token-secret') ?? null;
  if (secret !== null && textOption(args, 'token-file') !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either --token-file or --token-secret, not both');
  }
  return secret;
}

/** Warns when the token would cross a network unencrypted. */
export function warnOfPlainHttp(url: URL, token: string | null, { stderr }: CtlIo): void {
  const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (token === null || loopback || url.protocol === 'https:') return;
  stderr.write(
    `warning: the token goes to ${url.hostname} over http and can be read by others on the network; use https\n`,
  );
}
