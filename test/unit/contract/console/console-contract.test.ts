import { describe, expect, it } from 'vitest';
import { actionDefinition, CONTROL_ACTIONS } from '../../../../src/contract/actions/actions.ts';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import { renderConsoleContract } from '../../../../src/contract/console/console-contract.ts';

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

  it('has every report, with its path and its parameters', () => {
    expect(CONTRACT.reports.map(({ report }) => report).toSorted()).toEqual(Object.keys(REPORTS).toSorted());
    const memory = CONTRACT.reports.find(({ report }) => report === 'translation.memory.query');
    expect(memory?.path).toBe('/admin/translation/memory/query');
    expect(memory?.schema.required).toEqual(['source_text']);
    expect(memory?.schema.properties['limit']).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000 });
  });

  it('survives JSON, and explains every reason', () => {
    expect(JSON.parse(JSON.stringify(CONTRACT))).toEqual(CONTRACT);
  });
});
