import { join, relative } from 'node:path';
import process from 'node:process';
import { createHttpClient, parseJsonAnswer } from '../src/platform/http/http-client.ts';
import { DEMO_LOCALIZED } from './game/demo-localized.ts';
import { DEFAULT_DATA } from '../src/cli/bundle/find-store.ts';
import type { DevSummary } from './dev-summary.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 64 * 1024;

/** Where `slipway ctl` finds a running system. */
export interface CtlAddress {
  readonly serverUrl: string;
  /** File with the admin token. */
  readonly tokenFile: string;
  /** The folder that holds `bin/`. */
  readonly programDirectory: string;
}

interface WelcomeOptions extends CtlAddress {
  readonly releaseId: string;
  readonly cdnHost: string;
  /** Folder of the snapshot volume. */
  readonly snapshotRoot: string;
  /** File with the public key that attestations are verified with. */
  readonly publicKeyFile: string;
  /** Whether both channels are copied, so that the texts of no release are parsed. */
  readonly isCopy: boolean;
  /** `null` for a system that does not run on the demo releases. */
  readonly demo: WelcomeDemo | null;
}

interface WelcomeDemo {
  readonly dataDirectory: string;
  /** The release that the served one was compared with, if any. */
  readonly previousReleaseId: string | null;
  /** The release to play next, if any. */
  readonly nextReleaseId: string | null;
  /** The current localized release, if any. */
  readonly localized: WelcomeLocalized | null;
}

/** A localized release. */
export interface WelcomeLocalized {
  readonly releaseId: string;
  /** The destination of a bundle with translated text. */
  readonly bundle: string;
}

/**
 * Shows the user where the system is, with command lines that can be pasted into a shell as they are.
 *
 * @throws HttpFailure when the server does not answer
 */
export async function renderWelcome(options: WelcomeOptions): Promise<string> {
  const { serverUrl, releaseId, tokenFile } = options;
  const page = (await read(`${serverUrl}/v1/resources?limit=1`)) as {
    items?: Array<{ destination: string }>;
  };
  const { destination = '' } = page.items?.[0] ?? {};
  const path = destination.split('/').map(encodeURIComponent).join('/');
  const fileUrl = `${serverUrl}/${options.cdnHost}/${releaseId}/${path}`;
  const slipway = slipwayCommand(options);
  const ctl = `${slipway} ctl`;
  const { demo } = options;
  const lines = [
    exportLine(options),
    `curl -s '${serverUrl}/readyz?verbose'`,
    `curl -s '${serverUrl}/v1/distribution?limit=2'`,
    `curl -s -r 0-99 -D - -o /dev/null ${quoteWord(fileUrl)}`,
    `${ctl} status`,
    `${ctl} tasks`,
    `${ctl} run sync --wait`,
    ...(options.isCopy ? [] : [`${ctl} report parse.status`, `${ctl} report parse.text_units limit=2`]),
    ...(options.isCopy ? [] : [`${ctl} translations status`]),
    ...(demo === null ? [] : demoLines(options, demo, ctl)),
    ...(demo === null ? [] : localizedLines(options, demo, slipway)),
    `${slipway} verify ${shellWord(shortPath(options.snapshotRoot))} --keys ${shellWord(shortPath(options.publicKeyFile))}`,
  ];
  return `
Slipway serves release ${releaseId} at ${serverUrl}
${demo?.localized ? localizedLine(demo.localized) : ''}
Console: ${serverUrl}/admin/dashboard/ (the token is in ${shortPath(tokenFile)})

Try:
${lines.map((line) => `  ${line}`).join('\n')}
${demo === null ? '' : nextLine(demo)}
Press Ctrl-C to stop.
`;
}

/**
 * Asks a system for the host name that its paths of files begin with: a variable of the user may have set it.
 *
 * @throws HttpFailure when the server does not answer
 */
export async function readCdnHost(serverUrl: string): Promise<string> {
  return ((await read(`${serverUrl}/v1/release`)) as { cdn_host: string }).cdn_host;
}

async function read(url: string): Promise<unknown> {
  const client = createHttpClient({ connections: 1, keepAlive: false });
  return parseJsonAnswer(
    await client.send({ url, timeoutMs: ANSWER_TIMEOUT_MS, maxBytes: ANSWER_MAX_BYTES }),
  );
}

/** Command lines that show text of the demo release, and how it differs from that of the previous release. */
function demoLines(
  { serverUrl, cdnHost, releaseId }: WelcomeOptions,
  { previousReleaseId }: WelcomeDemo,
  ctl: string,
): string[] {
  return [
    `curl -s '${serverUrl}/${cdnHost}/${releaseId}/TableBundles/Localize000.csv' | grep ruby`,
    ...(previousReleaseId === null ? [] : [`${ctl} texts diff ${previousReleaseId} ${releaseId}`]),
    `${ctl} run translation-worker-run max_tasks=3 args=dry_run=true --wait`,
    `${ctl} run translation-worker-run max_tasks=3 --wait`,
    `${ctl} translations unit TableBundles/Localize000.csv 'row[2].TextJp'`,
  ];
}

/** Command lines that show a translated line in a patched table and in a patched bundle. */
function localizedLines(
  { serverUrl, cdnHost }: WelcomeOptions,
  { dataDirectory, localized }: WelcomeDemo,
  slipway: string,
): string[] {
  if (localized === null) return [];
  const folder = `${serverUrl}/${cdnHost}/${localized.releaseId}`;
  const copy = shellWord(shortPath(join(dataDirectory, 'patched.bundle')));
  return [
    `curl -s '${folder}/TableBundles/Localize000.csv' | grep 老师`,
    `curl -s -o ${copy} '${folder}/${localized.bundle}' && ${slipway} parse ${copy} --limit 3`,
  ];
}

/** Says which release has the translations, and which translations it has. */
function localizedLine({ releaseId }: WelcomeLocalized): string {
  return `It also serves the localized release ${releaseId}. It replaces the texts whose translation is at least
\`${DEMO_LOCALIZED.minState}\` (localized.minState); all others stay official.
`;
}

function nextLine({ dataDirectory, nextReleaseId }: WelcomeDemo): string {
  if (nextReleaseId === null) return '';
  const data = shortPath(dataDirectory);
  const words = data === DEFAULT_DATA ? 'make run-next' : `make run-next DATA=${shellWord(data)}`;
  return `\nTo play ${nextReleaseId}, in a second terminal: ${words}\n`;
}

/** Shows the user the addresses, which stay the same whatever happens to a sync. */
export function renderAddresses({
  server_url,
  daemon_url,
  metrics_url,
  daemon_metrics_url,
  admin_token_file,
}: DevSummary): string {
  return `
Server:    ${server_url}
Console:   ${server_url}/admin/dashboard/ (the token is in ${shortPath(admin_token_file)})
Metrics:   ${metrics_url}
Daemon:    ${daemon_url}
           ${daemon_metrics_url} (its metrics)

`;
}

/**
 * Shows the user why nothing is served yet, with a command line that syncs now.
 *
 * @param failure code and reason of the sync that failed
 */
export function renderFailedSync(failure: string, options: CtlAddress): string {
  return `
The sync failed: ${failure}

Nothing is served yet; the daemon tries again. Slipway stays up at ${options.serverUrl}. To sync now:
  ${slipwayCommand(options)} ctl --url ${options.serverUrl} --token-file ${shellWord(shortPath(options.tokenFile))} run sync --wait

`;
}

/** The line of a shell after which `slipway ctl` calls this system. */
export function exportLine({ serverUrl, tokenFile }: CtlAddress): string {
  return `export SLIPWAY_CTL_URL=${serverUrl} SLIPWAY_CTL_TOKEN_FILE=${shellWord(shortPath(tokenFile))}`;
}

/** The program `slipway` as a word of a shell. */
export function slipwayCommand({ programDirectory }: CtlAddress): string {
  return shellWord(shortPath(join(programDirectory, 'bin/slipway')));
}

/** The path from the current folder if the file is below it, else the absolute one. */
export function shortPath(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below;
}

/** Quotes a word for a POSIX shell where that is needed. */
function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : quoteWord(text);
}

/** Quotes a word for a POSIX shell. Source: POSIX.1, Shell Command Language, 2.2.2. */
function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
