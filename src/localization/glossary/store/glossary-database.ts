import { openOtherDatabase, type ReadableDatabase } from '../../other-database.ts';
import { openSqliteDatabase, type Database } from '../../../engine/database/sqlite-database.ts';
import { GLOSSARY_APPLICATION_ID, GLOSSARY_MIGRATIONS } from './glossary-schema.ts';
import { GLOSSARY_RULES } from './glossary-rules.ts';

/**
 * Opens the daemon's own Glossary; a missing file is created. A damaged file, or one of another program or a newer schema,
 * is never changed.
 *
 * @throws DatabaseError
 */
export function openMainGlossary(path: string): Database {
  return openSqliteDatabase({
    path,
    migrations: GLOSSARY_MIGRATIONS,
    applicationId: GLOSSARY_APPLICATION_ID,
    rules: GLOSSARY_RULES,
  });
}

/** Opens another Glossary to read it. @throws DatabaseError */
export function openOtherGlossary(path: string): ReadableDatabase {
  return openOtherDatabase(path, {
    name: 'Glossary',
    applicationId: GLOSSARY_APPLICATION_ID,
    migrations: GLOSSARY_MIGRATIONS,
    rules: GLOSSARY_RULES,
  });
}
