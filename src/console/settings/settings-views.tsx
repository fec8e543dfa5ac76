/** The views of the settings in one file: they are small, and a file of its own costs each more than it holds. */

import { useState } from 'preact/hooks';
import type { ConsoleReport } from '../../contract/console/console-contract.ts';
import { Select, ActionButton, LogOutButton } from '../components/controls.tsx';
import { FormField, type Form } from '../components/field.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Section } from '../components/panel.tsx';
import { Empty, Facts, Badge, Prose, FailureText, RawText } from '../components/text.tsx';
import { fieldAt, fieldsOf, readFields, type FieldProblem, type Values } from '../forms/form-model.ts';
import { useApp, type App, useWholeContract } from '../state/app.ts';
import { THEMES, type Theme } from '../state/kept-theme.ts';
import { useAnswer } from '../state/use-answer.ts';
import type { View } from '../state/view.ts';
import { renderExact } from '../text/exact-json.ts';
import { words } from '../text/format.ts';
import { matchScore } from '../text/match.ts';

const THEME_WORDS: Readonly<Record<Theme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
};

export const settingsView: View = { feeds: () => [], Body: Settings };

function Settings() {
  const app = useApp();
  const index = app.index();
  if (index === null) return <Empty>Loading …</Empty>;
  const { service, token, history } = index;
  const allowed = index.actions.filter((action) => action.allowed).length;
  return (
    <>
      <Section title="Token">
        <Facts
          rows={[
            ['Name', <code key="id">{token.id}</code>],
            ['Scopes', token.scopes.length === 0 ? 'none: this token only reads' : token.scopes.join(', ')],
            ['Actions', `${allowed} of ${index.actions.length}`],
          ]}
        />
        {app.canControl() ? null : (
          <p class="muted">
            This server does not forward actions. Set <code>admin.exposeControl</code> in its configuration to
            allow them.
          </p>
        )}
        <p class="muted">
          Logging out makes this tab forget the token. Texts that are not stored are sent first.
        </p>
        <p class="buttons">
          <LogOutButton />
        </p>
      </Section>
      <Section title="Appearance">
        <Select
          label="Theme"
          value={app.themes.theme.value}
          options={THEMES.map((theme) => [theme, THEME_WORDS[theme]])}
          onChange={(theme) => app.themes.choose(THEMES.find((each) => each === theme) ?? 'system')}
        />
      </Section>
      <Section title="Server">
        <Facts
          rows={[
            ['Name', <code key="name">{history.server}</code>],
            ['Version', service.version],
          ]}
        />
      </Section>
    </>
  );
}

const GROUPS = [
  ['Schedules', 'schedule-'],
  ['Tasks', 'task-'],
  ['Glossary', 'translation-glossary-'],
  ['Translation Memory', 'translation-memory-'],
  ['Translations', 'translation-'],
  ['Localized releases', 'localized-'],
] as const;
const OTHERS = 'Releases and daemon';

export const actionsView: View = { feeds: () => [], Body: AllActions };

function AllActions() {
  const app = useApp();
  if (app.index() === null) return <Empty>Loading …</Empty>;
  if (!app.canControl()) {
    return (
      <Empty>
        This server does not forward control actions. Set <code>admin.exposeControl</code> in its
        configuration to allow them.
      </Empty>
    );
  }
  const allowed = Object.keys(app.contract.actions).filter((action) => app.mayRun(action));
  if (allowed.length === 0)
    return <Empty>This token only reads. A token with a scope can run actions.</Empty>;
  const found = allowed.filter((action) => matchScore(wordsOf(app, action), app.query('text')) > 0);
  const byGroup = Map.groupBy(found, groupOf);
  return (
    <>
      <FilterBar
        label="Filter the actions"
        filters={[
          { kind: 'text', name: 'text', label: 'Containing', hint: 'A word such as release or term' },
        ]}
        count={`${found.length} of ${allowed.length} actions`}
      />
      {found.length === 0 ? <Empty>No action matches. Try a word such as “release” or “term”.</Empty> : null}
      {[OTHERS, ...GROUPS.map(([title]) => title)].map((title) => (
        <ActionList key={title} title={title} actions={byGroup.get(title) ?? []} />
      ))}
    </>
  );
}

function ActionList({ title, actions }: { title: string; actions: readonly string[] }) {
  const { contract } = useApp();
  if (actions.length === 0) return null;
  return (
    <section class="panel">
      <h2>{title}</h2>
      <ul class="rows">
        {actions.map((name) => {
          const action = contract.actions[name];
          if (action === undefined) return null;
          return (
            <li class="action-row" key={name}>
              <div>
                <h3>
                  {action.title} {action.destructive ? <Badge tone="warn">Destructive</Badge> : null}
                </h3>
                <p class="muted">
                  <Prose text={action.summary} /> <code>{name}</code>
                </p>
              </div>
              <ActionButton
                request={{ action: name }}
                about={name}
                class={action.destructive ? 'danger' : ''}
              >
                Run …
              </ActionButton>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function groupOf(action: string): string {
  return GROUPS.find(([, prefix]) => action.startsWith(prefix))?.[0] ?? OTHERS;
}

function wordsOf({ contract }: App, action: string): string {
  const { title = '', summary = '' } = contract.actions[action] ?? {};
  return `${title} ${action} ${words(action)} ${summary}`;
}

export const reportsView: View = { feeds: () => [], Body: Reports };

function Reports() {
  const contract = useWholeContract();
  const [chosen, setChosen] = useState('');
  if (contract === null) return <Empty>Loading …</Empty>;
  const { reports } = contract;
  const report = reports.find((each) => each.report === chosen) ?? reports[0];
  return (
    <Section title="Reports">
      <Select
        label="Report"
        value={report?.report ?? ''}
        options={reports.map((each) => [each.report, each.report])}
        onChange={setChosen}
      />
      {report === undefined ? null : <ReportForm report={report} key={report.report} />}
    </Section>
  );
}

/** Shows any report by its form, with every digit and every field. */
function ReportForm({ report: { report, path, summary, schema } }: { report: ConsoleReport }) {
  const { api } = useApp();
  const [values, setValues] = useState<Values>({});
  const [unread, setUnread] = useState<readonly FieldProblem[]>([]);
  const [asked, setAsked] = useState<{
    readonly query: Readonly<Record<string, string>>;
    readonly times: number;
  }>();
  const fields = fieldsOf(schema);
  const { value, failure, isOld } = useAnswer(
    asked === undefined ? null : JSON.stringify(asked),
    async (signal) => await api.read(path, { query: asked?.query ?? {}, signal }),
    0,
  );
  const submit = (): void => {
    const { body, problems } = readFields(fields, values);
    setUnread(problems);
    const query = Object.fromEntries(Object.entries(body).map(([name, each]) => [name, String(each)]));
    setAsked((before) => (problems.length > 0 ? undefined : { query, times: (before?.times ?? 0) + 1 }));
  };
  const refused = (failure?.problem.errors ?? []).map(({ pointer, message }) => ({
    path: fieldAt(pointer, fields) ?? '',
    message,
  }));
  const form: Form = {
    id: 'report',
    values,
    problems: [...unread, ...refused],
    fixed: new Set(),
    onChange: (name, each) => setValues((before) => ({ ...before, [name]: each })),
    sourceOf: () => null,
    optionText: () => null,
  };
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        noValidate
      >
        <p>
          {summary} <code class="muted">{path}</code>
        </p>
        <div class="columns">
          {fields.map((field) => (
            <FormField form={form} field={field} key={field.path} />
          ))}
        </div>
        <div class="buttons">
          <button type="submit" class="primary">
            Show
          </button>
        </div>
      </form>
      {failure === null ? null : (
        <div class="note bad" role="alert">
          <FailureText failure={failure} />
        </div>
      )}
      {value === null || isOld ? null : <RawText label={`Report ${report}`} text={renderExact(value, 2)} />}
    </>
  );
}
