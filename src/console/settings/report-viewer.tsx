import { Component, type JSX } from 'preact';
import type { ConsoleReport } from '../../contract/console/console-contract.ts';
import { type ApiFailure, failureOf } from '../api/api-client.ts';
import { Select } from '../components/controls.tsx';
import { FormField, type Form } from '../components/field.tsx';
import { FailureText, RawText } from '../components/text.tsx';
import { fieldAt, fieldsOf, readFields, type FieldProblem, type Values } from '../forms/form-model.ts';
import type { App } from '../state/app.ts';
import { renderExact } from '../text/exact-json.ts';

interface ViewerProps {
  readonly app: App;
  /** At least one. */
  readonly reports: readonly ConsoleReport[];
}

interface ViewerState {
  readonly report: string;
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
  readonly failure: ApiFailure | null;
  readonly answer: string | null;
}

const UNTOUCHED: Omit<ViewerState, 'report'> = { values: {}, problems: [], failure: null, answer: null };

/** Shows any report by its form, with every digit and every field. */
export class ReportViewer extends Component<ViewerProps, ViewerState> {
  /** Ends when its answer is no longer wanted. */
  #reading = new AbortController();

  constructor(props: ViewerProps) {
    super(props);
    this.state = { ...UNTOUCHED, report: props.reports[0]?.report ?? '' };
  }

  async submit({ path, schema }: ConsoleReport): Promise<void> {
    const fields = fieldsOf(schema);
    const { body, problems } = readFields(fields, this.state.values);
    this.setState({ problems, failure: null, answer: null });
    if (problems.length > 0) return;
    const query = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
    this.#reading.abort();
    this.#reading = new AbortController();
    const { signal } = this.#reading;
    try {
      const answer = await this.props.app.api.read(path, { query, signal });
      if (!signal.aborted) this.setState({ answer: renderExact(answer, 2) });
    } catch (error) {
      // The reader has gone on to another report.
      if (signal.aborted) return;
      const failure = failureOf(error);
      this.setState({
        failure,
        problems: (failure.problem.errors ?? []).map(({ pointer, message }) => ({
          path: fieldAt(pointer, fields) ?? '',
          message,
        })),
      });
    }
  }

  override componentWillUnmount(): void {
    this.#reading.abort();
  }

  /** Shows the form of a report. */
  choose(report: string): void {
    this.#reading.abort();
    this.setState({ ...UNTOUCHED, report });
  }

  override render(): JSX.Element | null {
    const { reports } = this.props;
    const { report: name, values, problems, failure, answer } = this.state;
    const report = reports.find((each) => each.report === name);
    if (report === undefined) return null;
    const form: Form = {
      id: 'report',
      values,
      problems,
      fixed: new Set(),
      onChange: (path, value) => this.setState((state) => ({ values: { ...state.values, [path]: value } })),
      sourceOf: () => null,
      optionText: () => null,
    };
    return (
      <section class="panel" aria-labelledby="report-title">
        <div class="panel-head">
          <h2 id="report-title">Reports</h2>
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void this.submit(report);
          }}
          noValidate
        >
          <Select
            label="Report"
            value={name}
            options={reports.map((each) => [each.report, each.report])}
            onChange={(value) => this.choose(value)}
          />
          <p>
            {report.summary} <code class="muted">{report.path}</code>
          </p>
          <div class="columns">
            {fieldsOf(report.schema).map((field) => (
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
        {answer === null ? null : <RawText label={`Report ${name}`} text={answer} />}
      </section>
    );
  }
}
