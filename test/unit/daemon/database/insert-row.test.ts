import { describe, expect, it, onTestFinished } from 'vitest';
import { prepareInsert } from '../../../../src/daemon/database/insert-row.ts';
import { openSqliteDatabase, type Database } from '../../../../src/daemon/database/sqlite-database.ts';

function openNotes(): Database {
  const database = openSqliteDatabase({
    path: ':memory:',
    migrations: [
      {
        version: 1,
        name: 'notes',
        sql: 'CREATE TABLE note (id INTEGER PRIMARY KEY, author TEXT NOT NULL UNIQUE, text TEXT, size INTEGER) STRICT;',
      },
    ],
    applicationId: 77,
  });
  onTestFinished(() => {
    database.close();
  });
  return database;
}

const COLUMNS = ['author', 'text', 'size'];

describe('the insert of a row', () => {
  it('binds each value to the column of its name, in any order, and gives the id of the row', () => {
    const database = openNotes();
    const insert = prepareInsert(database, 'note', COLUMNS);
    expect(insert({ size: 3, text: 'one', author: 'a' })).toBe(1);
    expect(insert({ author: 'b', text: null, size: 7 })).toBe(2);
    expect(
      database
        .prepare('SELECT * FROM note ORDER BY id')
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([
      { id: 1, author: 'a', text: 'one', size: 3 },
      { id: 2, author: 'b', text: null, size: 7 },
    ]);
  });

  it('refuses a row without one of the columns, and one with a column that it would not write', () => {
    const database = openNotes();
    const insert = prepareInsert(database, 'note', COLUMNS);
    expect(() => insert({ author: 'a', text: 'one' })).toThrow('a row of note has no value for size');
    expect(() => insert({ author: 'a', text: 'one', size: 3, extra: 1 })).toThrow(
      'a row of note has other columns than author, text, size',
    );
    expect(database.prepare('SELECT count(*) AS count FROM note').get()?.['count']).toBe(0);
  });

  it('ends with what it does in a conflict', () => {
    const database = openNotes();
    const insert = prepareInsert(
      database,
      'note',
      COLUMNS,
      'ON CONFLICT (author) DO UPDATE SET text = excluded.text',
    );
    insert({ author: 'a', text: 'one', size: 3 });
    insert({ author: 'a', text: 'two', size: 9 });
    expect(database.prepare('SELECT text, size FROM note').get()).toMatchObject({ text: 'two', size: 3 });
  });
});
