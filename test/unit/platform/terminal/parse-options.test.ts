import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../../../src/platform/terminal/parse-options.ts';
import { usageError } from '../../../../src/platform/terminal/usage-error.ts';

const OPTIONS = { output: { type: 'string', short: 'o' }, wait: { type: 'boolean' } } as const;

describe('wrong options', () => {
  it.each([
    [['--ouptut', 'json'], 'there is no option --ouptut; did you mean "--output"?'],
    [['--zebra'], 'there is no option --zebra'],
    [['-z'], 'there is no option -z'],
    [['--output'], '--output needs a value'],
    [['--output', '--wait'], '--output needs a value'],
    [['-o'], '--output needs a value'],
    [['--wait=yes'], '--wait takes no value'],
    [['word "x"'], 'unexpected argument "word "x""'],
  ])('%j are named in one short sentence', (args, problem) => {
    expect(parseOptions({ args, options: OPTIONS })).toEqual({ ok: false, error: problem });
  });

  it('do not hide good ones', () => {
    const parsed = parseOptions({ args: ['-o', 'x', 'w'], options: OPTIONS, allowPositionals: true });
    expect(parsed).toMatchObject({ ok: true, value: { values: { output: 'x' }, positionals: ['w'] } });
    expect(usageError('slipway x', 'no')).toBe('slipway x: no\nFor help: slipway x --help\n');
  });
});
