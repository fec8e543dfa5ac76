import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PAGE = read('docs/development/foreign-tools.md');

/** The version of a package in a package.json. */
function npmVersion(path: string, name: string): string {
  const { dependencies, devDependencies } = JSON.parse(read(path)) as Readonly<
    Record<string, Readonly<Record<string, string>> | undefined>
  >;
  return dependencies?.[name] ?? devDependencies?.[name] ?? 'no version';
}

/** The version of a package in a list of pip. */
function pipVersion(path: string, name: string): string {
  return new RegExp(`^${name}==(\\S+)$`, 'mu').exec(read(path))?.[1] ?? 'no version';
}

/** The version of a program of Kubernetes. */
function goVersion(name: string): string {
  const line = new RegExp(`^${name} +(v\\S+)`, 'mu').exec(read('scripts/kube-tools/programs.txt'));
  return line?.[1] ?? 'no version';
}

it.each([
  ['helm lint', goVersion('helm')],
  ['Helm 3', goVersion('helm3')],
  ['gopher-lua', goVersion('glua')],
  ['kubeconform', goVersion('kubeconform')],
  ['kube-score', goVersion('kube-score')],
  ['oras', goVersion('oras')],
  ['crane', goVersion('crane')],
  ['cosign', /cosign@(v[\d.]+)/u.exec(read('scripts/release/run-program.ts'))?.[1] ?? 'no version'],
  ['actionlint', /actionlint@(v[\d.]+)/u.exec(read('scripts/test/workflows.ts'))?.[1] ?? 'no version'],
  [
    'OAuth2 Proxy',
    /oauth2-proxy:(v[\d.]+)/u.exec(read('manifests/samples/sign-in.yaml'))?.[1] ?? 'no version',
  ],
  ['Redocly CLI', npmVersion('package.json', '@redocly/cli')],
  ['Spectral CLI', npmVersion('package.json', '@stoplight/spectral-cli')],
  ['axe-core', npmVersion('package.json', 'axe-core')],
  ['openapi-typescript', npmVersion('scripts/client-tools/package.json', 'openapi-typescript')],
  ['hey-api (openapi-ts)', npmVersion('scripts/client-tools/package.json', '@hey-api/openapi-ts')],
  ['openapi-python-client', pipVersion('scripts/client-tools/requirements.in', 'openapi-python-client')],
  ['Schemathesis', pipVersion('scripts/fuzz-tools/requirements.in', 'schemathesis')],
  ['moto', pipVersion('scripts/s3-tools/requirements.in', 'moto\\[s3\\]')],
  ['AWS CLI', pipVersion('scripts/s3-tools/requirements.in', 'awscli')],
  ['UnityPy', pipVersion('scripts/unity-tools/requirements.in', 'UnityPy')],
  ['sacrebleu', pipVersion('scripts/translation-tools/requirements.in', 'sacrebleu')],
  ['translate-toolkit', pipVersion('scripts/translation-tools/requirements.in', 'translate-toolkit')],
])('the page about foreign tools has the version of %s that the tests run', (tool, version) => {
  const row = PAGE.split('\n').find((line) => line.startsWith(`| ${tool} `));
  expect(row?.split('|')[2]?.trim()).toBe(version);
});

it('the page names each complaint of kube-score that its test accepts', () => {
  const [, accepted = ''] =
    /const ACCEPTED[^=]*= \{(.*?)\n\};/su.exec(read('test/cluster/chart-conformity.test.ts')) ?? [];
  const ids = [...accepted.matchAll(/^ {2}'([a-z-]+)':/gmu)].map(([, id = '']) => id);
  expect(ids.length).toBeGreaterThan(3);
  expect(ids.filter((id) => !PAGE.includes(`\`${id}\``))).toEqual([]);
});
