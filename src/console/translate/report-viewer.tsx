import { ApiFailure } from './api-client.js';
import { code, failureText, rawText, select } from './elements.js';
import { renderExact } from './exact-json.js';
import { fieldAt, fieldsOf, readFields } from './form-model.js';
import { fieldView } from './form-view.js';
import { Component, h } from './preact.js';

/** @import { App } from './app.js' */
/** @import { DashboardReport } from '../dashboard-contract.ts' */
/** @import { FieldProblem, Values } from './form-model.js' */

/**
 * @typedef {object} ViewerProps
 * @property {App} app
 * @property {readonly DashboardReport[]} reports at least one
 *
 * @typedef {object} ViewerState
 * @property {string} report
 * @property {Values} values
 * @property {readonly FieldProblem[]} problems
 * @property {ApiFailure | null} failure
 * @property {string | null} answer
 */

/**
 * Shows any report by its form, with every digit and every field.
 *
 * @extends {Component<ViewerProps, ViewerState>}
 */
export class ReportViewer extends Component {
  /** @param {ViewerProps} props */
  constructor(props) {
    super(props);
    this.state = { ...UNTOUCHED, report: props.reports[0]?.report ?? '' };
  }

  /**
   * @param {Event} event
   * @param {DashboardReport} report
   */
  async submit(event, { path, schema }) {
    event.preventDefault();
    const fields = fieldsOf(schema);
    const { body, problems } = readFields(fields, this.state.values);
    this.setState({ problems, failure: null, answer: null });
    if (problems.length > 0) return;
    const query = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
    try {
      this.setState({ answer: renderExact(await this.props.app.api.read(path, { query }), 2) });
    } catch (error) {
      const failure = error instanceof ApiFailure ? error : new ApiFailure(String(error));
      this.setState({
        failure,
        problems: (failure.problem.errors ?? []).map(({ pointer, message }) => ({
          path: fieldAt(pointer, fields) ?? '',
          message,
        })),
      });
    }
  }

  /** @override */
  render() {
    const { app, reports } = this.props;
    const { report: name, values, problems, failure, answer } = this.state;
    const report = reports.find((each) => each.report === name);
    if (report === undefined) return null;
    const form = {
      id: 'report',
      values,
      problems,
      fixed: /** @type {ReadonlySet<string>} */ (new Set()),
      onChange: (/** @type {string} */ path, /** @type {string | boolean} */ value) =>
        this.setState((state) => ({ values: { ...state.values, [path]: value } })),
      suggest: () => [],
    };
    return h(
      'section',
      { class: 'panel', 'aria-labelledby': 'report-title' },
      h('div', { class: 'panel-head' }, h('h2', { id: 'report-title' }, 'Reports')),
      h(
        'form',
        { onSubmit: (/** @type {Event} */ event) => void this.submit(event, report), noValidate: true },
        select(
          'Report',
          name,
          reports.map((each) => [each.report, each.report]),
          (value) => this.setState({ ...UNTOUCHED, report: value }),
        ),
        h('p', null, report.summary, ' ', code(report.path, { class: 'faint' })),
        h(
          'div',
          { class: 'columns' },
          fieldsOf(report.schema).map((field) => fieldView(form, field)),
        ),
        h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary' }, 'Show')),
      ),
      failure === null ? null : h('div', { class: 'note bad', role: 'alert' }, failureText(app, failure)),
      answer === null ? null : rawText(`Report ${name}`, answer),
    );
  }
}

/** @type {Omit<ViewerState, 'report'>} */
const UNTOUCHED = { values: {}, problems: [], failure: null, answer: null };
