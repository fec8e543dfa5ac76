import { describe, expect, it } from 'vitest';
import { actionDefinition, CONTROL_ACTIONS } from '../../../src/contract/actions/actions.ts';
import { renderJsonSchema, type JsonSchema } from '../../../src/contract/json/json-schema.ts';
import { EVERY_JOB } from '../../../scripts/reference/tables.ts';
import { fieldTexts } from '../../../src/cli/ctl/actions/field-texts.ts';
import { DAEMON_PROBLEMS } from '../../../src/contract/problems/daemon-problems.ts';
import { PROBLEMS } from '../../../src/contract/problems/problems.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { FIX_AND_REPAIR } from '../../../src/domain/service-state/damaged-finding.ts';
import { wholeContract } from '../../../src/console/api/whole-contract.ts';
import { REMEDIES } from '../../../src/domain/service-state/service-reasons.ts';
import { formsOf, outlineOf, renderConsoleContract } from '../../../scripts/console/console-contract.ts';

const CONTRACT = renderConsoleContract();

describe("the console's copy of the contract", () => {
  it('has every action, with a schema for each field that it requires or uses', () => {
    expect(Object.keys(CONTRACT.actions)).toEqual([...CONTROL_ACTIONS]);
    for (const action of CONTROL_ACTIONS) {
      const { required, used } = actionDefinition(action);
      const { schema } = CONTRACT.actions[action]!;
      expect(schema.required).toEqual(required);
      expect(Object.keys(schema.properties).toSorted()).toEqual(
        [...new Set([...required, ...used, 'reviewer', 'reason'])].toSorted(),
      );
      expect(Object.values(schema.properties).every((property) => 'type' in property)).toBe(true);
    }
  });

  it('has an outline with every name and place, and without forms', () => {
    const outline = outlineOf(CONTRACT);
    expect(Object.keys(outline.actions)).toEqual(Object.keys(CONTRACT.actions));
    expect(outline.actions['sync']).toMatchObject({ title: CONTRACT.actions['sync']!.title });
    expect(Object.keys(outline.jobs)).toEqual(Object.keys(CONTRACT.jobs));
    expect(outline.reports.map(({ report, path }) => [report, path])).toEqual(
      CONTRACT.reports.map(({ report, path }) => [report, path]),
    );
    expect(outline.vocabulary).toEqual(CONTRACT.vocabulary);
    expect(JSON.stringify(outline)).not.toMatch(/"(?:schema|pairs|problems)":/);
  });

  it('is whole again from its outline and its forms, without what only one of them has', () => {
    const [outline, forms] = [outlineOf(CONTRACT), formsOf(CONTRACT)];
    expect(wholeContract(outline, forms)).toEqual(CONTRACT);
    const { sync: _sync, ...actions } = forms.actions;
    const { 'task.list': _list, ...reports } = forms.reports;
    const other = { ...forms, actions, reports, jobs: { ...forms.jobs, newer: { schema: _sync!.schema } } };
    const whole = wholeContract(outline, other);
    expect(Object.keys(whole.actions)).toEqual(
      Object.keys(outline.actions).filter((name) => name !== 'sync'),
    );
    expect(whole.reports.some(({ report }) => report === 'task.list')).toBe(false);
    expect(whole.jobs).toEqual(CONTRACT.jobs);
  });

  it('has every report, with its path and its parameters', () => {
    expect(CONTRACT.reports.map(({ report }) => report).toSorted()).toEqual(Object.keys(REPORTS).toSorted());
    const memory = CONTRACT.reports.find(({ report }) => report === 'translation.memory.query');
    expect(memory?.path).toBe('/admin/translation/memory/query');
    expect(memory?.schema.required).toEqual(['source_text']);
    expect(memory?.schema.properties['limit']).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000 });
  });

  it('has a title for every action, and words for every field, as `ctl run ACTION --help` has', () => {
    for (const action of CONTROL_ACTIONS) {
      const { title, schema, pairs } = CONTRACT.actions[action]!;
      expect(title).toMatch(/^[A-Z]/);
      const help = new Map(fieldTexts(actionDefinition(action)).map(({ name, meaning }) => [name, meaning]));
      for (const [name, property] of Object.entries(schema.properties)) {
        expect([action, name, property['title']]).toEqual([action, name, expect.stringMatching(/^[A-Z]/)]);
        const meaning = help.get(name);
        if (meaning === undefined) continue;
        expect(meaning).toContain((property['description'] as string).replaceAll('`', ''));
      }
      for (const [key, property] of Object.entries(pairs?.properties ?? {})) {
        expect([key, property['title']]).toEqual([key, expect.stringMatching(/^[A-Z]/)]);
        expect(help.get(`args=${key}`)).toBe((property['description'] as string).replaceAll('`', ''));
      }
    }
  });

  it('names the checks of the doctor that an advice quotes', () => {
    const advices = [...Object.values(REMEDIES), FIX_AND_REPAIR].map(({ text }) => text);
    for (const text of advices.filter((each) => /\bchecks? "/.test(each) && !each.includes('"database."'))) {
      const quoted = [...text.matchAll(/"([^"]+)"/g)].map(([, id]) => id);
      expect([text, CONTRACT.checks[text]]).toEqual([text, quoted]);
    }
    expect(Object.keys(CONTRACT.checks).filter((text) => !advices.includes(text))).toEqual([]);
  });

  it('has the jobs that schedules of the daemon can run, each with its arguments', () => {
    const jobs = EVERY_JOB.filter(({ groups }) => groups.length > 0);
    expect(Object.keys(CONTRACT.jobs).toSorted()).toEqual(jobs.map(({ kind }) => kind).toSorted());
    for (const { kind, scope, groups, arguments: fields, personalSwitches = [] } of jobs) {
      const job = CONTRACT.jobs[kind]!;
      expect([kind, job.scope]).toEqual([kind, scope]);
      expect([kind, job.groups]).toEqual([kind, [...groups]]);
      const { properties = {} } = renderJsonSchema(fields) as {
        readonly properties?: Record<string, JsonSchema>;
      };
      // The daemon sets the token itself, and no pair can give a list.
      const { token_id: _token, superseded: _list, ...all } = properties;
      // The daemon refuses these in schedules.
      const given = Object.fromEntries(
        Object.entries(all).filter(([name]) => !personalSwitches.includes(name)),
      );
      const { reviewer: _reviewer, reason: _reason, ...offered } = job.schema.properties;
      expect([kind, Object.keys(offered).toSorted()]).toEqual([kind, Object.keys(given).toSorted()]);
      for (const [name, schema] of Object.entries(given)) {
        const shown = offered[name]!;
        expect([kind, name, shown['enum']]).toEqual([kind, name, schema['enum']]);
        expect([kind, name, shown['title']]).toEqual([kind, name, expect.stringMatching(/^[A-Z]/)]);
      }
      const needed = Object.keys(given).filter((name) => !fields.shape[name]!.safeParse(undefined).success);
      expect([kind, job.schema.required.toSorted()]).toEqual([kind, needed.toSorted()]);
    }
  });

  it('explains the codes of the daemon and of tasks, and no code that only this server gives', () => {
    expect(Object.keys(CONTRACT.problems)).toEqual(expect.arrayContaining(Object.keys(DAEMON_PROBLEMS)));
    expect(CONTRACT.problems).toMatchObject({ internal_error: PROBLEMS.internal_error.description });
    expect(CONTRACT.problems).not.toHaveProperty('range_not_satisfiable');
  });

  it('has no member of a schema that no form uses', () => {
    const text = JSON.stringify(CONTRACT);
    expect(text).toContain('"maximum":');
    expect(text).not.toMatch(/"(?:additionalProperties|propertyNames|pattern|minLength|maxItems|default)":/);
  });

  it('survives JSON, and explains every reason', () => {
    expect(JSON.parse(JSON.stringify(CONTRACT))).toEqual(CONTRACT);
  });
});
