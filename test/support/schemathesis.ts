import { pythonProgram } from './python-tools.ts';

/** The path of Schemathesis; `null` when it is missing and cannot be installed here. */
export function schemathesisProgram(): string | null {
  return pythonProgram('fuzz-tools', 'schemathesis.cli');
}
