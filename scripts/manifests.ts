/**
 * Writes manifests/install.yaml, the plain install, from the chart. With `--check` it says whether it differs and exits with 1.
 *
 *   node scripts/manifests.ts [--check]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseAllDocuments, stringify } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');
const FILE = join(ROOT, 'manifests/install.yaml');
const NAMESPACE = 'slipway';
/** Labels and annotations that only mean something to Helm. */
const OF_HELM = ['helm.sh/chart', 'helm.sh/resource-policy', 'app.kubernetes.io/managed-by'];

const HEAD = `# Slipway without Helm: origin, operator and CRD. Generated from charts/slipway and manifests/install.values.yaml by
# \`make manifests\`; edit a copy: publicBaseUrl in server.yaml, upstream in daemon.yaml, image, sizes of the claims.
#
#   kubectl create namespace slipway
#   bin/slipway keygen --out keys
#   kubectl -n slipway create secret generic slipway-signing --from-file=keys/signing.key --from-file=keys/signing.pub
#   kubectl -n slipway create secret generic slipway-admin --from-literal=token="$(openssl rand -hex 24)"
#   kubectl apply --server-side -f install.yaml
`;

interface Metadata {
  readonly name: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: { readonly template?: { readonly metadata?: Metadata } };
}

function renderInstall(): string {
  const namespace: KubeObject = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  };
  const values = join(ROOT, 'manifests/install.values.yaml');
  const text = helm(
    'template',
    'slipway',
    'charts/slipway',
    '--namespace',
    NAMESPACE,
    '--no-hooks',
    '-f',
    values,
  );
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  const cleaned = [namespace, ...objects].map((object) => {
    for (const metadata of [object.metadata, object.spec?.template?.metadata]) forgetHelm(metadata);
    return stringify(object, { lineWidth: 0 });
  });
  return `${HEAD}---\n${cleaned.join('---\n')}`;
}

function forgetHelm(metadata: Metadata | undefined): void {
  for (const name of OF_HELM) {
    delete metadata?.labels?.[name];
    delete metadata?.annotations?.[name];
  }
  if (metadata?.annotations !== undefined && Object.keys(metadata.annotations).length === 0) {
    delete metadata.annotations;
  }
}

function helm(...args: readonly string[]): string {
  const folder = output(join(ROOT, 'scripts/kube-tools.sh'), ['helm']).trim();
  return output(join(folder, 'helm'), args);
}

function output(command: string, args: readonly string[]): string {
  const run = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    // Rendering asks no cluster.
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  });
  if (run.status !== 0) throw new Error(`${command} ended with ${run.status ?? run.error?.message}`);
  return run.stdout;
}

function main(check: boolean): number {
  const text = renderInstall();
  const isCurrent = existsSync(FILE) && readFileSync(FILE, 'utf8') === text;
  if (check && !isCurrent)
    console.error('manifests/install.yaml differs from the chart; run: make manifests');
  if (!check && !isCurrent) writeFileSync(FILE, text);
  return check && !isCurrent ? 1 : 0;
}

process.exitCode = main(process.argv.includes('--check'));
