import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const text = z.string().min(1);
const common = { label: text, description: text.optional() };
const required = z.strictObject({ required: z.boolean() }).optional();
const id = z.string().regex(/^[a-z_-]+$/);
/** What GitHub accepts: docs.github.com, "Syntax for GitHub's form schema", as far as it is used here. */
const ISSUE_FORM = z.strictObject({
  name: text,
  description: text,
  labels: z.array(text),
  body: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: text }) }),
        z.strictObject({
          type: z.literal('textarea'),
          id,
          attributes: z.strictObject({ ...common, render: text.optional() }),
          validations: required,
        }),
        z.strictObject({
          type: z.literal('input'),
          id,
          attributes: z.strictObject(common),
          validations: required,
        }),
        z.strictObject({
          type: z.literal('dropdown'),
          id,
          attributes: z.strictObject({ ...common, options: z.array(text).min(2) }),
          validations: required,
        }),
        z.strictObject({
          type: z.literal('checkboxes'),
          id,
          attributes: z.strictObject({ ...common, options: z.array(z.strictObject({ label: text })).min(1) }),
        }),
      ]),
    )
    .refine((body) => new Set(body.map((each) => ('id' in each ? each.id : each))).size === body.length),
});

/** A workflow, as far as it is read here. */
const WORKFLOW = z.looseObject({
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.number(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(z.looseObject({ uses: z.string().optional(), run: z.string().optional() })),
    }),
  ),
});

/** What a job may do beyond reading: only the one that publishes, which the owner alone can start. */
const PERMITTED: Readonly<Record<string, object>> = {
  '.github/workflows/release.yml release': { contents: 'write', packages: 'write', 'id-token': 'write' },
};

const workflows = globSync('.github/workflows/*.yml', { cwd: ROOT });
const forms = globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: ROOT }).filter(
  (path) => !path.endsWith('/config.yml'),
);

describe('the workflow files', () => {
  it.each(workflows)('%s may only what it must, ends in time, and pins actions by commit', (path) => {
    const { jobs } = WORKFLOW.parse(parse(read(path)));
    expect(Object.keys(jobs).length).toBeGreaterThan(0);
    for (const [name, { permissions }] of Object.entries(jobs)) {
      expect(permissions, name).toEqual(PERMITTED[`${path} ${name}`]);
    }
    const used = [...read(path).matchAll(/^\s*(?:- )?uses: (.*)$/gm)].map(([, action = '']) => action);
    expect(used.filter((action) => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
  });

  it.each(workflows)('%s calls only make targets that exist', (path) => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z-]*):/gm)].map(([, name]) => name));
    const { jobs } = WORKFLOW.parse(parse(read(path)));
    const called = Object.values(jobs).flatMap(({ steps }) =>
      steps.flatMap(({ run = '' }) => [...run.matchAll(/^\s*make ([a-z-]+)/gm)].map(([, name]) => name)),
    );
    expect(called.filter((name) => !targets.has(name))).toEqual([]);
  });
});

describe('the issue forms', () => {
  it('are found', () => expect(forms.length).toBeGreaterThan(1));

  it.each(forms)('%s is one that GitHub accepts', (path) => {
    expect(ISSUE_FORM.safeParse(parse(read(path))).error?.message).toBeUndefined();
  });
});
