import { describe, expect, it } from 'vitest';
import { renderActionBody } from '../../../../src/cli/ctl/action-body.ts';
import type { ControlAction } from '../../../../src/contract/actions/actions.ts';

function body(action: ControlAction, ...fields: string[]): string | null {
  return renderActionBody(action, { fields, json: null });
}

describe('the body of an action from arguments', () => {
  it('is absent without arguments, and matches the schema with them', () => {
    expect(body('sync')).toBeNull();
    expect(body('sync', 'force=true')).toBe('{"force":true}');
    expect(
      body('schedule-add', 'group=res', 'action=verify', 'every_seconds=60', 'args=channel=official'),
    ).toBe('{"group":"res","action":"verify","every_seconds":60,"args":["channel=official"]}');
  });

  it('keeps every digit of an int64, and text that looks like a number', () => {
    const words = ['term_id=0012', 'priority=-9223372036854775808', 'reason=5'];
    expect(body('translation-glossary-update', ...words)).toBe(
      '{"term_id":"0012","priority":-9223372036854775808,"reason":"5"}',
    );
  });

  it('collects the items of a list, reads members of an object one by one, or the object as JSON', () => {
    const term = ['source_term=a', 'recommended_translation=b=c', 'source_language=ja', 'target_language=en'];
    const source = ['source.source_kind=manual', 'source.observed_unix_seconds=9223372036854775807'];
    expect(
      body('translation-glossary-add', ...term, 'aliases=x', 'aliases=y', ...source, 'scope={"k":"v"}'),
    ).toBe(
      '{"source_term":"a","recommended_translation":"b=c","source_language":"ja","target_language":"en",' +
        '"aliases":["x","y"],"source":{"source_kind":"manual","observed_unix_seconds":9223372036854775807},"scope":{"k":"v"}}',
    );
    expect(body('translation-glossary-update', 'term_id=t', 'scope.speaker=Aru')).toBe(
      '{"term_id":"t","scope":{"speaker":"Aru"}}',
    );
  });

  it.each([
    ['a word without a name', ['=5'], 'not of the form field=value'],
    ['an unknown field', ['nmae=5'], 'nmae: a control body has no such field'],
    ['the dry run as a field', ['dry_run=true'], 'no such field; for a dry run, use the option --dry-run'],
    ['a name of every object', ['__proto__=5'], '__proto__: a control body has no such field'],
    ['an unknown member', ['source.kind=manual'], 'source has no such member'],
    ['text for a number', ['count=many'], 'count: must be a decimal integer'],
    ['text for a switch', ['force=yes'], 'force: must be true or false'],
    ['a field twice', ['force=true', 'force=false'], 'force: given twice'],
    ['bad JSON', ['source={'], 'source: must be JSON'],
    ['a number beyond int64', ['count=9223372036854775808'], '/count: must be an integer'],
    [
      'a field that the action does not use',
      ['reviewer=r', 'task_id=T'],
      'release-cleanup does not use task_id',
    ],
    ['a rule of the action', ['count=0'], '/count: must be at least 1'],
  ])('refuses %s before it sends anything', (_what, fields, message) => {
    expect(() => body('release-cleanup', ...fields)).toThrow(message);
  });

  it('sends a whole body as typed if it is valid', () => {
    const json = '{ "count" : 9007199254740993 }';
    expect(renderActionBody('release-cleanup', { fields: [], json })).toBe(json);
    for (const bad of ['{', '[]', '{"count":1,"count":2}', '{"other":1}']) {
      expect(() => renderActionBody('release-cleanup', { fields: [], json: bad })).toThrow(/body|other/);
    }
    expect(() => renderActionBody('restart', { fields: [], json: '{"args":["dry_run=true"]}' })).toThrow(
      'restart does not use args',
    );
    expect(() => renderActionBody('sync', { fields: ['force=true'], json: '{}' })).toThrow('not both');
  });
});
