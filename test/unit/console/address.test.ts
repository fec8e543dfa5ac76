import { describe, expect, it } from 'vitest';
import { readRoute, writeRoute } from '../../../src/console/shell/address.ts';
import { VIEWS, viewOf } from '../../../src/console/shell/views.ts';

describe('the address of a page', () => {
  it.each([
    ['#/tasks', { view: 'tasks', argument: null, query: {} }],
    ['#/tasks/01K?status=failed', { view: 'tasks', argument: '01K', query: { status: 'failed' } }],
    ['#/glossary/a%2Fb%3F?text=%E5%85%88+x', { view: 'glossary', argument: 'a/b?', query: { text: '先 x' } }],
    ['', { view: '', argument: null, query: {} }],
    ['#/tasks/%ZZ', { view: 'tasks', argument: '%ZZ', query: {} }],
  ])('is read: %s', (hash, route) => {
    expect(readRoute(hash)).toEqual(route);
  });

  it('is written as it is read, without empty choices', () => {
    const route = { view: 'glossary', argument: 'a/b?#&', query: { text: '先&=#', empty: '' } };
    expect(readRoute(writeRoute(route))).toEqual({ ...route, query: { text: '先&=#' } });
    expect(writeRoute({ view: 'tasks', argument: null, query: {} })).toBe('#/tasks');
  });

  it('opens its page, the overview without one, and says when there is no such page', async () => {
    for (const entry of VIEWS) expect(viewOf(readRoute(`#/${entry.id}`))).toBe(entry);
    expect(['', '#', '#/'].map((hash) => viewOf(readRoute(hash)).id)).toEqual(Array(3).fill('overview'));
    const unknown = viewOf(readRoute('#/nothing-here/x'));
    expect([unknown.title, VIEWS.includes(unknown)]).toEqual(['There is no such page', false]);
    expect((await unknown.load()).Body({})).toBeNull();
  });
});
