import { createAdminApi } from './admin-api.ts';
import type { ClusterAccess } from './cluster/cluster-access.ts';
import type { PortForward } from './cluster/port-forward.ts';
import { findCtlCommand, renderCtlCommands, renderCtlHelp } from './ctl-commands.ts';
import type { CtlCommand, CtlIo } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import {
  numberOption,
  parseCtlArguments,
  refuseOtherOptions,
  textOption,
  type CtlArguments,
} from './ctl-options.ts';
import { readCtlToken } from './ctl-token.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';
/** The Service of the chart that also leads to pods that are not ready. */
const DEFAULT_TARGET = 'service/slipway-admin';
const LONGEST_TIMEOUT_SECONDS = 3600;
/** Keeps the process alive while it waits between two requests. */
const LONG_MS = 2 ** 30;

/** The name under which `slipway ctl` was started. */
export interface CtlProgram {
  /** For messages: `slipway ctl`, or `kubectl slipway`. */
  readonly name: string;
  /** Whether this is the plugin of kubectl, which goes through the cluster unless a URL is given. */
  readonly plugin: boolean;
}

/**
 * Runs `slipway ctl`: reads reports and starts actions through the admin surface of a running service.
 *
 * @param argv the command line after `ctl`
 * @returns the exit code, one of {@link CTL_EXITS}
 */
export async function runCtl(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  const alive = setInterval(() => undefined, LONG_MS);
  try {
    return await run(argv, io, program);
  } catch (error) {
    if (io.signal.aborted) return CTL_EXITS.interrupted;
    if (!(error instanceof CtlFailure)) throw error;
    const hint = error.exit === CTL_EXITS.usage ? `\nFor help: ${program.name} --help` : '';
    io.stderr.write(`${program.name}: ${error.message}${hint}\n`);
    return error.exit;
  } finally {
    clearInterval(alive);
  }
}

async function run(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  const args = parseCtlArguments(argv);
  const command = findCtlCommand(args.words);
  if (args.values.help === true || args.words[0] === 'help') {
    io.stdout.write(renderCtlHelp(program.name, command ?? findCtlCommand(args.words.slice(1))));
    return CTL_EXITS.ok;
  }
  if (command === null) {
    const what =
      args.words.length === 0 ? 'a command is missing' : `there is no command "${args.words.join(' ')}"`;
    throw new CtlFailure(CTL_EXITS.usage, `${what}; the commands are:\n${renderCtlCommands()}`);
  }
  const words = wordsOf(command, args);
  const json = isJson(args);
  const timeoutMs =
    numberOption(args, 'timeout', { min: 1, max: LONGEST_TIMEOUT_SECONDS, fallback: 30 }) * 1000;
  const target = targetOf(args, io, program);
  const secret = secretOf(args);
  const cluster = target.service === null && secret === null ? null : await openClusterOf(args, io);
  let forward: PortForward | null = null;
  try {
    const token =
      secret === null
        ? await readCtlToken({ file: textOption(args, 'token-file'), env: io.env })
        : ((await cluster?.readTokenSecret(secret)) ?? null);
    if (target.service !== null) forward = (await cluster?.forward(target.service)) ?? null;
    const url = forward?.url ?? target.url;
    warnOfPlainHttp(url, token, io);
    const api = createAdminApi({ url, token, timeoutMs, signal: io.signal });
    return await command.run({ ...io, api, args, words, json });
  } catch (error) {
    throw forwardFailure(forward, error);
  } finally {
    await forward?.close();
    await cluster?.close();
  }
}

/** A broken connection to the pod is the cause of a service that seems unreachable. */
function forwardFailure(forward: PortForward | null, error: unknown): unknown {
  const failure = forward?.failure() ?? null;
  if (failure === null || !(error instanceof CtlFailure) || error.exit !== CTL_EXITS.unreachable)
    return error;
  return new CtlFailure(CTL_EXITS.unreachable, `cannot forward the port: ${failure}`, { cause: error });
}

/** Loads the Kubernetes library, which takes a quarter of a second and some 75 MiB, only when it is needed. */
async function openClusterOf(args: CtlArguments, io: CtlIo): Promise<ClusterAccess> {
  const { openCluster } = await import('./cluster/cluster-access.ts');
  return await openCluster({
    namespace: textOption(args, 'namespace'),
    context: textOption(args, 'context'),
    env: io.env,
    signal: io.signal,
  });
}

function wordsOf(command: CtlCommand, args: CtlArguments): readonly string[] {
  const words = args.words.slice(command.name.split(' ').length);
  const [fewest, most] = command.words;
  if (words.length < fewest || words.length > most) {
    throw new CtlFailure(CTL_EXITS.usage, `usage: ${`${command.name} ${command.synopsis}`.trimEnd()}`);
  }
  refuseOtherOptions(args, command.name, command.options);
  return words;
}

function isJson(args: CtlArguments): boolean {
  const output = textOption(args, 'output') ?? 'table';
  if (output === 'json' || output === 'table') return output === 'json';
  throw new CtlFailure(CTL_EXITS.usage, `--output ${output}: must be table or json`);
}

/** Where the service is. */
interface CtlTarget {
  /** The URL; a placeholder while `service` is not forwarded yet. */
  readonly url: URL;
  /** What to forward to in the cluster, or `null`. */
  readonly service: { readonly target: string; readonly targetPort: string | null } | null;
}

function targetOf(args: CtlArguments, io: CtlIo, program: CtlProgram): CtlTarget {
  const url = textOption(args, 'url');
  const names = ['kubectl', 'namespace', 'context', 'target', 'target-port'] as const;
  const asked = names.find((name) => args.values[name] !== undefined);
  if (url !== undefined && asked !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, `give either --url or --${asked}, not both`);
  }
  if (asked === undefined && (!program.plugin || url !== undefined)) {
    return { url: parseUrl(url ?? io.env['SLIPWAY_CTL_URL'] ?? DEFAULT_URL), service: null };
  }
  const target = textOption(args, 'target') ?? DEFAULT_TARGET;
  return {
    url: new URL(DEFAULT_URL),
    service: { target, targetPort: textOption(args, 'target-port') ?? null },
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const usable =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  if (usable) return url;
  // The text is not repeated: it may hold a password.
  throw new CtlFailure(
    CTL_EXITS.usage,
    '--url: give an http or https URL without a user, query or fragment, for example https://resources.example.org',
  );
}

/** @returns `--token-secret`, or `null` */
function secretOf(args: CtlArguments): string | null {
  const secret = textOption(args, 'token-secret') ?? null;
  if (secret !== null && textOption(args, 'token-file') !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either --token-file or --token-secret, not both');
  }
  return secret;
}

/** Warns when the token would cross a network unencrypted. */
function warnOfPlainHttp(url: URL, token: string | null, io: CtlIo): void {
  const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (token === null || loopback || url.protocol === 'https:') return;
  io.stderr.write(
    `warning: the token goes to ${url.hostname} over http and can be read on the way; use https\n`,
  );
}
