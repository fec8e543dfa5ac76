/**
 * Writes the plain install from the chart: manifests/namespace.yaml, crd.yaml and install.yaml. With `--check` it says which of them
 * differ, and exits with 1.
 *
 *   node scripts/manifests.ts [--check]
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseAllDocuments, stringify } from 'yaml';

const ROOT = resolve(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'manifests');
const NAMESPACE = 'slipway';
/** Labels and annotations that only mean something to Helm. */
const OF_HELM = ['helm.sh/chart', 'helm.sh/resource-policy', 'app.kubernetes.io/managed-by'];

const GENERATED = '# Generated from charts/slipway and manifests/install.values.yaml by `make manifests`.';
const HEADS = {
  'namespace.yaml': `# The namespace of Slipway. ${GENERATED.slice(2)}\n`,
  'crd.yaml': `# The definition of ReleaseChannel, and rights on its objects. To delete it deletes every ReleaseChannel of the cluster.\n${GENERATED}\n`,
  'install.yaml': `# Slipway without Helm: origin and operator.
${GENERATED}
# Edit a copy: publicBaseUrl in server.yaml, upstream in daemon.yaml, image, sizes of the claims.
#
#   kubectl apply --server-side -f namespace.yaml -f crd.yaml
#   bin/slipway keygen --out keys
#   kubectl -n slipway create secret generic slipway-signing --from-file=keys/signing.key --from-file=keys/signing.pub
#   kubectl -n slipway create secret generic slipway-admin --from-literal=token="$(openssl rand -hex 24)"
#   kubectl -n slipway label secret slipway-admin slipway.dev/admin-token=true
#   kubectl apply --server-side -f install.yaml
#
# kubectl delete -f install.yaml deletes the claims, too, with every release and translation on them.
`,
} as const;

type FileName = keyof typeof HEADS;

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

function renderFiles(): Readonly<Record<FileName, string>> {
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
  const isDefinition = ({ metadata }: KubeObject): boolean =>
    metadata.labels?.['app.kubernetes.io/component'] === 'crd';
  const write = (name: FileName, those: readonly KubeObject[]): string => {
    const cleaned = those.map((object) => {
      for (const metadata of [object.metadata, object.spec?.template?.metadata]) forgetHelm(metadata);
      return stringify(object, { lineWidth: 0 });
    });
    return `${HEADS[name]}---\n${cleaned.join('---\n')}`;
  };
  return {
    'namespace.yaml': write('namespace.yaml', [namespace]),
    'crd.yaml': write('crd.yaml', objects.filter(isDefinition)),
    'install.yaml': write(
      'install.yaml',
      objects.filter((object) => !isDefinition(object)),
    ),
  };
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
  const stale = Object.entries(renderFiles()).filter(([name, text]) => {
    const path = join(FOLDER, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  for (const [name, text] of stale) {
    if (check) console.error(`manifests/${name} differs from the chart; run: make manifests`);
    else writeFileSync(join(FOLDER, name), text);
  }
  return check && stale.length > 0 ? 1 : 0;
}

process.exitCode = main(process.argv.includes('--check'));
