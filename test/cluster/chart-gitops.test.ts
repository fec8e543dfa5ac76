import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CHART, parseObjects, runHelm, type KubeObject } from '../support/helm.ts';
import { kubeTools } from '../support/kube-tools.ts';

const SAMPLES = resolve(import.meta.dirname, '../../manifests/samples');
const HEALTH = 'resource.customizations.health.slipway.dev_ReleaseChannel';

const programs = kubeTools('helm', 'helm3', 'glua');

const sample = (name: string): KubeObject[] => parseObjects(readFileSync(join(SAMPLES, name), 'utf8'));

const specOf = (name: string, kind: string): KubeObject['spec'] => {
  const found = sample(name).find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`${name} has no ${kind}`);
  return found.spec;
};

/** A value as a constructor of Lua. */
function luaOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Array.isArray(value)
    ? value.map(luaOf)
    : Object.entries(value).map(([name, inner]) => `[${JSON.stringify(name)}]=${luaOf(inner)}`);
  return `{${fields.join(',')}}`;
}

describe.skipIf(programs === null)('the samples for GitOps', () => {
  const { helm, helm3, glua } = programs ?? { helm: '', helm3: '', glua: '' };
  let home = '';

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'slipway-gitops-'));
  });

  afterAll(async () => {
    await rm(home, { recursive: true, force: true });
  });

  const render = (program: string, values: object): KubeObject[] => {
    const args = ['template', 'slipway', CHART, '--namespace', 'slipway', '--kube-version', '1.29.0'];
    const run = runHelm(program, [...args, '--values', '-'], { home, input: stringify(values) });
    expect(run.stderr).toBe('');
    return parseObjects(run.stdout);
  };

  it('are of the version of the chart', () => {
    const { version } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as {
      readonly version: string;
    };
    expect(specOf('argocd.yaml', 'Application').source.targetRevision).toBe(version);
    expect(specOf('flux.yaml', 'OCIRepository').ref.tag).toBe(version);
  });

  it('render as Argo CD renders them, without the cluster, and the same at each run', () => {
    const values = specOf('argocd.yaml', 'Application').source.helm.valuesObject as object;
    const objects = render(helm, values);
    expect(render(helm, values)).toEqual(objects);
    const key = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
    const byKey = (list: readonly KubeObject[]): unknown =>
      Object.fromEntries(list.map((each) => [key(each), each]));
    expect(byKey(render(helm3, values))).toEqual(byKey(objects));
    const waves = objects.flatMap(({ kind, metadata }) => {
      const wave = metadata.annotations?.['argocd.argoproj.io/sync-wave'];
      return wave === undefined ? [] : [[kind, wave]];
    });
    expect(waves).toEqual([['ReleaseChannel', '1']]);
    const claims = objects.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    expect(claims).toHaveLength(2);
    for (const { metadata } of claims) {
      expect(metadata.annotations?.['argocd.argoproj.io/sync-options']).toBe('Prune=false,Delete=false');
    }
  });

  it('render as Flux renders them, which finds the Secrets of the chart in the cluster', () => {
    const values = specOf('flux.yaml', 'HelmRelease').values as object;
    for (const program of [helm, helm3]) {
      const objects = render(program, { ...values, secrets: { generate: true } });
      expect(objects.map(({ kind }) => kind)).toEqual(
        expect.arrayContaining(['Deployment', 'Secret', 'Lease', 'CustomResourceDefinition']),
      );
    }
  });

  const condition = (type: string, status: string): object => ({
    type,
    status,
    reason: 'Why',
    message: 'text',
  });
  const state = (status: object, spec: object = {}): object => ({
    metadata: { generation: 2 },
    spec,
    status: { observedGeneration: 2, ...status },
  });

  it.each<[string, object, string]>([
    ['Healthy', state({ conditions: [condition('Ready', 'True')] }), 'text'],
    ['Degraded', state({ conditions: [condition('Ready', 'False')] }), 'Why: text'],
    [
      'Progressing',
      state({ conditions: [condition('Ready', 'False'), condition('Reconciling', 'True')] }),
      'text',
    ],
    ['Progressing', state({ conditions: [condition('Ready', 'Unknown')] }), 'text'],
    ['Progressing', state({ conditions: [] }), 'no condition Ready yet'],
    [
      'Progressing',
      state({ observedGeneration: 1, conditions: [condition('Ready', 'True')] }),
      'not reconciled this generation',
    ],
    ['Progressing', { metadata: { generation: 1 }, spec: {} }, 'not reconciled this generation'],
    ['Suspended', state({ conditions: [condition('Ready', 'True')] }, { suspend: true }), 'suspend'],
  ])('show a channel as %s: %j', async (expected, object, message) => {
    const { data = {} } = sample('argocd.yaml').find(({ kind }) => kind === 'ConfigMap') ?? {};
    const script = join(home, 'health.lua');
    // Argo CD uses the same interpreter.
    await writeFile(
      script,
      `local obj = ${luaOf(object)}\nlocal h = (function()\n${data[HEALTH]}\nend)()\nprint(h.status .. "|" .. h.message)\n`,
    );
    const run = spawnSync(glua, [script], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    const [status, text] = run.stdout.trim().split('|');
    expect(status).toBe(expected);
    expect(text).toContain(message);
  });
});
