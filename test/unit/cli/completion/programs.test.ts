import { describe, expect, it } from 'vitest';
import {
  PROGRAMS,
  renderProgramProblem,
  renderSlipwayUsage,
} from '../../../../src/cli/completion/programs.ts';

describe('a command line of slipway', () => {
  it('without a command gets the list of commands', () => {
    const problem = renderProgramProblem('');
    expect(problem).toBe(`slipway: a command is missing\n\n${renderSlipwayUsage()}`);
    expect(PROGRAMS.filter(([name]) => !problem.includes(`\n  ${name} `))).toEqual([]);
  });

  it.each([
    ['verfy', 'verify'],
    ['staus', 'ctl status'],
    ['tasks', 'ctl tasks'],
  ])('with the command %j gets a suggestion, also of a command of ctl', (written, meant) => {
    expect(renderProgramProblem(written)).toBe(
      `slipway: there is no command "${written}"; did you mean "${meant}"?\nFor help: slipway --help\n`,
    );
  });

  it('with a word that is close to no command gets no suggestion', () => {
    expect(renderProgramProblem('no such command')).toBe(
      'slipway: there is no command "no such command"\nFor help: slipway --help\n',
    );
  });
});
