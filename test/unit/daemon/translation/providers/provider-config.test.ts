import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { providersSchema } from '../../../../../src/daemon/translation/providers/provider-config.ts';
import { PROVIDER_FAILURES } from '../../../../../src/daemon/translation/providers/provider-failure.ts';

function problemsOf(settings: object): string[] {
  const checked = providersSchema.safeParse({ mine: settings });
  return checked.success
    ? []
    : checked.error.issues.map(({ path, message }) => `${path.slice(1).join('.')} ${message}`);
}

const openai = {
  kind: 'openai',
  url: 'https://api.example.com/v1',
  model: 'm',
  allowHosts: ['api.example.com'],
};

it('takes a provider of each kind', () => {
  expect(problemsOf(openai)).toEqual([]);
  expect(problemsOf({ kind: 'libretranslate', url: 'http://[::1]:5000', allowHosts: ['[::1]'] })).toEqual([]);
  expect(problemsOf({ kind: 'fixture' })).toEqual([]);
  expect(problemsOf({ kind: 'memory-only' })).toEqual([]);
});

it('names every problem', () => {
  expect(problemsOf({ kind: 'openai' })).toEqual([
    'url is missing; the kind "openai" needs it',
    'model is missing; the kind "openai" needs it',
  ]);
  expect(problemsOf({ ...openai, allowHosts: ['example.com'] })).toEqual([
    'allowHosts does not have "api.example.com", the host of url; add it to allow that texts are sent there',
  ]);
  expect(
    problemsOf({ kind: 'fixture', url: openai.url, allowHosts: openai.allowHosts, temperature: 1 }),
  ).toEqual(['url is not used by the kind "fixture"', 'temperature is not used by the kind "fixture"']);
  for (const url of [
    'ftp://a',
    'https://u:p@api.example.com',
    'https://api.example.com?x=1',
    'api.example.com',
  ]) {
    expect(problemsOf({ ...openai, url }).join(), url).toContain('url must be an absolute');
  }
  expect(problemsOf({ ...openai, kind: 'gpt' })).toHaveLength(1);
  expect(problemsOf({ ...openai, limits: { timeoutSeconds: 0 }, mask: 'html', more: 1 })).toHaveLength(3);
});

it.each([
  ['Not good', 'memory-only', 'the name must be lower case letters, digits, "_" and "-", at most 64'],
  ['file', 'memory-only', 'marks the work of people in histories; choose another name'],
  ['undo', 'memory-only', 'marks the work of people in histories; choose another name'],
  ['fixture', 'memory-only', 'give it the kind "fixture", or choose another name'],
  ['memory-only', 'fixture', 'give it the kind "memory-only", or choose another name'],
  ['fixture', 'fixture', null],
  ['files', 'fixture', null],
])('with the name "%s" and the kind %s: %s', (name, kind, problem) => {
  const checked = providersSchema.safeParse({ [name]: { kind } });
  const messages = checked.success
    ? []
    : checked.error.issues.map(({ path, message }) => ({ path, message }));
  const expected = { path: [name], message: expect.stringContaining(problem ?? '') as unknown };
  expect(messages).toEqual(problem === null ? [] : [expected]);
});

it('documents every failure', () => {
  const page = readFileSync(new URL('../../../../../docs/reference/providers.md', import.meta.url), 'utf8');
  const missing = Object.entries(PROVIDER_FAILURES).filter(
    ([code, does]) => !new RegExp(`\\| \`${code}\` +\\| ${does} `).test(page),
  );
  expect(missing).toEqual([]);
});
