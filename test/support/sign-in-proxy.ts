import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseAllDocuments } from 'yaml';
import { freePorts } from './free-ports.ts';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until } from './until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const GO_TOOLS = join(ROOT, 'scripts/go-tools.sh');
const SAMPLE = parseAllDocuments(readFileSync(join(ROOT, 'manifests/samples/sign-in.yaml'), 'utf8')).map(
  (document) => document.toJS() as SampleObject,
);
/** How `scripts/go-tools.sh` ends where Go is missing. */
const NO_GO = 127;

/** The parts of the objects in the sample that are read. */
interface SampleObject {
  readonly kind: string;
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

function sampleObject(kind: string): SampleObject {
  const object = SAMPLE.find((each) => each.kind === kind);
  if (object === undefined) throw new Error(`the sample has no ${kind}`);
  return object;
}

/**
 * The Go package of OAuth2 Proxy in the version of the sample, built if it is missing.
 *
 * @returns `null` when it cannot be built here; in CI that is an error
 */
export function builtSignInProxy(): string | null {
  const [container] = sampleObject('Deployment').spec.template.spec.containers;
  const target = `github.com/oauth2-proxy/oauth2-proxy/v7@${container?.image.split(':').at(-1) ?? ''}`;
  const run = spawnSync(GO_TOOLS, [target, '--version'], { encoding: 'utf8' });
  if (run.status === 0) return target;
  if (run.status !== NO_GO || process.env['CI'] === 'true')
    throw new Error(`no OAuth2 Proxy:\n${run.stderr}`);
  console.warn('SKIPPED: the sign-in in front of the console: OAuth2 Proxy needs Go to be built');
  return null;
}

/**
 * Starts OAuth2 Proxy with the configuration of the sample, in front of a server of this machine.
 *
 * @param target from {@link builtSignInProxy}
 * @param more lines that are added to the configuration
 * @returns its URL
 */
export async function startSignInProxy(
  target: string,
  {
    issuer,
    upstream,
    more = '',
  }: { readonly issuer: string; readonly upstream: string; readonly more?: string },
  atEnd: AtEnd,
): Promise<string> {
  const directory = await temporaryDirectory(atEnd);
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const printed = sampleObject('ConfigMap').data['oauth2-proxy.cfg'] ?? '';
  const configuration = printed
    .replace('":4180"', `"127.0.0.1:${port}"\nrequest_logging = false\nauth_logging = false`)
    .replace('http://slipway-admin', upstream)
    .replace('https://login.example.org', issuer)
    .replace('login.example.org', new URL(issuer).host)
    .replace('https://console.example.org', url)
    .replaceAll('/etc/oauth2-proxy', directory);
  const file = join(directory, 'oauth2-proxy.cfg');
  await writeFile(file, `${configuration}${more}`);
  await writeFile(join(directory, 'client-secret'), 'client-secret-of-tests');
  await writeFile(join(directory, 'cookie-secret'), '0123456789abcdef0123456789abcdef');
  const child = spawn(GO_TOOLS, [target, '--config', file], { stdio: ['ignore', 'inherit', 'inherit'] });
  const exited = once(child, 'exit');
  atEnd(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`OAuth2 Proxy ended with ${child.exitCode}`);
    return (await fetch(`${url}/ready`)).ok;
  });
  return url;
}
