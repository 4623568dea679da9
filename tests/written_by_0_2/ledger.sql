BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0007');
CREATE TABLE forecasts (
	id TEXT NOT NULL, 
	topology TEXT NOT NULL, 
	source TEXT NOT NULL, 
	issued_at DATETIME NOT NULL, 
	horizon_end DATETIME NOT NULL, 
	run_id TEXT NOT NULL, 
	model_version TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	history_digest TEXT NOT NULL, history_snapshot TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT pk_forecasts PRIMARY KEY (id)
);
INSERT INTO "forecasts" VALUES('run-1','calls','ingest','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000','run-1','3','forecasts/run-1','abababababababababababababababababababababababababababababababab','');
CREATE TABLE guard_actions (
	id TEXT NOT NULL, 
	topology TEXT NOT NULL, 
	decided_at DATETIME NOT NULL, 
	diagnosis TEXT NOT NULL, 
	action TEXT NOT NULL, 
	operator TEXT NOT NULL, 
	why TEXT NOT NULL, 
	step_id TEXT, 
	"plan" JSON NOT NULL, 
	"before" JSON NOT NULL, 
	expected JSON NOT NULL, 
	state TEXT NOT NULL, 
	judged_at DATETIME, 
	verdict TEXT NOT NULL, 
	measured JSON NOT NULL, 
	CONSTRAINT pk_guard_actions PRIMARY KEY (id), 
	CONSTRAINT ck_guard_actions_state CHECK (state IN ('open', 'effective', 'ineffective', 'moot', 'advised')), 
	CONSTRAINT fk_guard_actions_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
);
INSERT INTO "guard_actions" VALUES('guard-5094837d5b9a','moved','2024-03-04 12:02:00.000000','under-provisioned','scale-up','transcribe','more come','guard-5094837d5b9a','{"ingest": 1, "transcribe": 3}','{}','{}','open',NULL,'','{}');
CREATE TABLE guard_blacklist (
	topology TEXT NOT NULL, 
	diagnosis TEXT NOT NULL, 
	action TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	why TEXT NOT NULL, 
	lifted_at DATETIME, 
	lifted_by TEXT NOT NULL, 
	CONSTRAINT pk_guard_blacklist PRIMARY KEY (topology, diagnosis, action)
);
CREATE TABLE guard_looks (
	topology TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	body JSON NOT NULL, 
	CONSTRAINT pk_guard_looks PRIMARY KEY (topology, at)
);
CREATE TABLE lag_hours (
	topology TEXT NOT NULL, 
	hour DATETIME NOT NULL, 
	known BIGINT NOT NULL, 
	in_violation BIGINT NOT NULL, 
	CONSTRAINT pk_lag_hours PRIMARY KEY (topology, hour)
);
CREATE TABLE notices (
	service TEXT NOT NULL, 
	topology TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	begun_at DATETIME NOT NULL, 
	told_at DATETIME, 
	over_at DATETIME, 
	CONSTRAINT pk_notices PRIMARY KEY (service, topology, kind, subject)
);
CREATE TABLE observations (
	topology TEXT NOT NULL, 
	observed_at DATETIME NOT NULL, 
	"plan" JSON NOT NULL, 
	status TEXT NOT NULL, 
	backlog JSON NOT NULL, 
	lag_s DOUBLE, 
	unmeasured TEXT NOT NULL, 
	CONSTRAINT pk_observations PRIMARY KEY (topology, observed_at)
);
CREATE TABLE outcomes (
	step_id TEXT NOT NULL, 
	verified_at DATETIME, 
	downtime_s DOUBLE, 
	predicted JSON NOT NULL, 
	measured JSON NOT NULL, 
	violation_minutes INTEGER, 
	CONSTRAINT pk_outcomes PRIMARY KEY (step_id), 
	CONSTRAINT fk_outcomes_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
);
CREATE TABLE schedule_forecasts (
	schedule_id TEXT NOT NULL, 
	forecast_id TEXT NOT NULL, 
	CONSTRAINT pk_schedule_forecasts PRIMARY KEY (schedule_id, forecast_id), 
	CONSTRAINT fk_schedule_forecasts_forecast_id FOREIGN KEY(forecast_id) REFERENCES forecasts (id), 
	CONSTRAINT fk_schedule_forecasts_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (id)
);
INSERT INTO "schedule_forecasts" VALUES('0cb5d95e5ce10e95','run-1');
CREATE TABLE schedules (
	id TEXT NOT NULL, 
	topology TEXT NOT NULL, 
	made_at DATETIME NOT NULL, 
	start_at DATETIME NOT NULL, 
	end_at DATETIME NOT NULL, 
	quantile DOUBLE NOT NULL, 
	why TEXT NOT NULL, 
	current_plan JSON NOT NULL, 
	body JSON NOT NULL, 
	report TEXT NOT NULL, 
	derived_from JSON NOT NULL, shadow BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_schedules PRIMARY KEY (id)
);
INSERT INTO "schedules" VALUES('0cb5d95e5ce10e95','calls','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "calls", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}, "replaces": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('09156120f65e23fd','calls','2024-03-04 12:02:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "calls", "made_at": "2024-03-04T12:02:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:01:00+00:00", "in_place_at": "2024-03-04T13:03:00+00:00", "needed_from": "2024-03-04T13:06:00+00:00", "needed_until": "2024-03-04T14:31:00+00:00", "plan": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}, "replaces": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}, {"deploy_at": "2024-03-04T14:00:00+00:00", "in_place_at": "2024-03-04T14:02:00+00:00", "needed_from": "2024-03-04T14:05:00+00:00", "needed_until": "2024-03-04T15:30:00+00:00", "plan": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 5}, "packing": []}, "replaces": {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('f47ac6cfd8b2f929','undoing','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "undoing", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}, "replaces": {"topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}, {"deploy_at": "2024-03-04T14:00:00+00:00", "in_place_at": "2024-03-04T14:02:00+00:00", "needed_from": "2024-03-04T14:05:00+00:00", "needed_until": "2024-03-04T15:30:00+00:00", "plan": {"topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}, "replaces": {"topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('8a3335452ca8e506','never','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "never", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "never", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}, "replaces": {"topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}, {"deploy_at": "2024-03-04T14:00:00+00:00", "in_place_at": "2024-03-04T14:02:00+00:00", "needed_from": "2024-03-04T14:05:00+00:00", "needed_until": "2024-03-04T15:30:00+00:00", "plan": {"topology": "never", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}, "replaces": {"topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('8db4c1f39487650b','withheld','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "withheld", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}, "replaces": {"topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}, {"deploy_at": "2024-03-04T14:00:00+00:00", "in_place_at": "2024-03-04T14:02:00+00:00", "needed_from": "2024-03-04T14:05:00+00:00", "needed_until": "2024-03-04T15:30:00+00:00", "plan": {"topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}, "replaces": {"topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('8e56bc3398e6bbdb','moved','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "moved", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "moved", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "moved", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "moved", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}, "replaces": {"topology": "moved", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecast": "run-1"}, "price": null, "instance_price_per_hour": null}','','{"forecast": "run-1"}',0);
INSERT INTO "schedules" VALUES('a204c36f92e56683','held','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "held", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "held", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "held", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"rung": "hold: there is no forecast of ingest; no profile: too short", "running plan": "ab12"}, "price": null, "instance_price_per_hour": null}','','{"rung": "hold: there is no forecast of ingest; no profile: too short", "running plan": "ab12"}',0);
INSERT INTO "schedules" VALUES('8a20ed5cb91ada6f','edited','2024-03-04 12:00:00.000000','2024-03-04 12:00:00.000000','2024-03-05 12:00:00.000000',0.95,'the day''s calls','{"schema_version": 4, "topology": "edited", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','{"schema_version": 4, "topology": "edited", "made_at": "2024-03-04T12:00:00+00:00", "start": "2024-03-04T12:00:00+00:00", "end": "2024-03-05T12:00:00+00:00", "quantile": 0.95, "current": {"topology": "edited", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "steps": [{"deploy_at": "2024-03-04T13:00:00+00:00", "in_place_at": "2024-03-04T13:02:00+00:00", "needed_from": "2024-03-04T13:05:00+00:00", "needed_until": "2024-03-04T14:30:00+00:00", "plan": {"topology": "edited", "parallelism": {"ingest": 1, "transcribe": 5}, "packing": []}, "replaces": {"topology": "edited", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}, "load_per_s": {"ingest": 1.5}, "bottleneck": "transcribe", "utilisation": 0.8, "headroom_factor": 1.25, "downtime_s": 30.0, "catch_up_s": "inf", "cost_instance_hours": 4.0, "why": "the morning''s calls come", "violation_minutes_without": 0.0, "disruption": null, "price_per_hour": null, "more_per_hour": null}], "cost_instance_hours": 50.0, "why": "the day''s calls", "violation_minutes": 0.0, "violation_probability": 0.0, "allowed_minutes": null, "violation_price_h": 0.0, "alternatives": [], "excuses": [], "derived_from": {"forecasts": "run-1", "history": "abababababab", "running plan": "cd34", "candidates": "b.json (0123abcd)", "calibration version": "calls/3", "edited from": "s0", "edited by": "anna", "edited because": "a fair", "edited past": "1 instances of operator ''transcribe'' < planning.min_parallelism of 2"}, "price": null, "instance_price_per_hour": null}','','{"forecasts": "run-1", "history": "abababababab", "running plan": "cd34", "candidates": "b.json (0123abcd)", "calibration version": "calls/3", "edited from": "s0", "edited by": "anna", "edited because": "a fair", "edited past": "1 instances of operator ''transcribe'' < planning.min_parallelism of 2"}',0);
CREATE TABLE shadow_days (
	topology TEXT NOT NULL, 
	day DATE NOT NULL, 
	accrued_at DATETIME NOT NULL, 
	max_lag_s DOUBLE NOT NULL, 
	observed_minutes INTEGER NOT NULL, 
	measured_minutes INTEGER NOT NULL, 
	real_instance_hours DOUBLE NOT NULL, 
	real_violation_minutes INTEGER NOT NULL, 
	real_rescales INTEGER NOT NULL, 
	instance_hours DOUBLE NOT NULL, 
	instance_hours_observed DOUBLE NOT NULL, 
	violation_minutes INTEGER NOT NULL, 
	violation_minutes_measured INTEGER NOT NULL, 
	rescales INTEGER NOT NULL, 
	backlog DOUBLE NOT NULL, 
	notes TEXT NOT NULL, rescales_observed INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_shadow_days PRIMARY KEY (topology, day)
);
CREATE TABLE step_events (
	id INTEGER NOT NULL, 
	step_id TEXT NOT NULL, 
	from_state TEXT, 
	to_state TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	"by" TEXT NOT NULL, 
	why TEXT NOT NULL, 
	CONSTRAINT pk_step_events PRIMARY KEY (id), 
	CONSTRAINT fk_step_events_step_id FOREIGN KEY(step_id) REFERENCES steps (id)
);
INSERT INTO "step_events" VALUES(1,'0cb5d95e5ce10e95-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(2,'0cb5d95e5ce10e95-1','proposed','approved','2024-03-04 12:01:00.000000','anna','fine');
INSERT INTO "step_events" VALUES(3,'09156120f65e23fd-1',NULL,'proposed','2024-03-04 12:02:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(4,'09156120f65e23fd-2',NULL,'proposed','2024-03-04 12:02:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(5,'0cb5d95e5ce10e95-1','approved','superseded','2024-03-04 12:03:00.000000','earlier approval','step 09156120f65e23fd-1 is the same and takes its place');
INSERT INTO "step_events" VALUES(6,'09156120f65e23fd-1','proposed','approved','2024-03-04 12:03:00.000000','earlier approval','approved before by anna, as step 0cb5d95e5ce10e95-1 at Mon 13:00: the morning''s calls come');
INSERT INTO "step_events" VALUES(7,'09156120f65e23fd-2','proposed','proposed','2024-03-04 12:03:00.000000','auto_approve','the morning''s calls come; asked because it is large');
INSERT INTO "step_events" VALUES(8,'f47ac6cfd8b2f929-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(9,'f47ac6cfd8b2f929-2',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(10,'f47ac6cfd8b2f929-1','proposed','approved','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(11,'f47ac6cfd8b2f929-1','approved','due','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(12,'f47ac6cfd8b2f929-1','due','deploying','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(13,'f47ac6cfd8b2f929-1','deploying','deploying','2024-03-04 13:10:00.000000','deploy','being undone: it does not hold');
INSERT INTO "step_events" VALUES(14,'8a3335452ca8e506-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(15,'8a3335452ca8e506-2',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(16,'8a3335452ca8e506-1','proposed','approved','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(17,'8a3335452ca8e506-1','approved','due','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(18,'8a3335452ca8e506-1','due','deploying','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(19,'8a3335452ca8e506-1','deploying','rolled back','2024-03-04 13:10:00.000000','deploy','cut short before the cluster took it, and its time has gone by; nothing changed');
INSERT INTO "step_events" VALUES(20,'8db4c1f39487650b-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(21,'8db4c1f39487650b-2',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(22,'8db4c1f39487650b-1','proposed','approved','2024-03-04 12:00:00.000000','anna','as planned');
INSERT INTO "step_events" VALUES(23,'8db4c1f39487650b-1','approved','due','2024-03-04 13:01:00.000000','deploy','withheld: a backlog of 5 s');
INSERT INTO "step_events" VALUES(24,'8e56bc3398e6bbdb-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(25,'8e56bc3398e6bbdb-1','proposed','approved','2024-03-04 12:01:00.000000','anna','fine');
INSERT INTO "step_events" VALUES(26,'guard-5094837d5b9a',NULL,'approved','2024-03-04 12:02:00.000000','guard','more come');
INSERT INTO "step_events" VALUES(27,'8e56bc3398e6bbdb-1','approved','approved','2024-03-04 12:03:00.000000','guard','fine; follows on ingest 1 · transcribe 3, which the guard has put in place');
INSERT INTO "step_events" VALUES(28,'8a20ed5cb91ada6f-1',NULL,'proposed','2024-03-04 12:00:00.000000','planner','the morning''s calls come');
INSERT INTO "step_events" VALUES(29,'hand-a30a55ab1639',NULL,'approved','2024-03-04 12:00:00.000000','anna','fair');
CREATE TABLE steps (
	id TEXT NOT NULL, 
	schedule_id TEXT, 
	position INTEGER NOT NULL, 
	topology TEXT NOT NULL, 
	deploy_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, 
	"plan" JSON NOT NULL, 
	replaces JSON NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	updated_at DATETIME NOT NULL, 
	updated_by TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	CONSTRAINT pk_steps PRIMARY KEY (id), 
	CONSTRAINT ck_steps_state CHECK (state IN ('proposed', 'approved', 'due', 'deploying', 'verified', 'rolled back', 'vetoed', 'expired', 'superseded', 'shadow')), 
	CONSTRAINT fk_steps_schedule_id FOREIGN KEY(schedule_id) REFERENCES schedules (id)
);
INSERT INTO "steps" VALUES('0cb5d95e5ce10e95-1','0cb5d95e5ce10e95',1,'calls','2024-03-04 13:00:00.000000','2024-03-04 14:30:00.000000','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','superseded','step 09156120f65e23fd-1 is the same and takes its place','2024-03-04 12:03:00.000000','earlier approval',0);
INSERT INTO "steps" VALUES('09156120f65e23fd-1','09156120f65e23fd',1,'calls','2024-03-04 13:01:00.000000','2024-03-04 14:00:00.000000','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','approved','approved before by anna, as step 0cb5d95e5ce10e95-1 at Mon 13:00: the morning''s calls come','2024-03-04 12:03:00.000000','earlier approval',0);
INSERT INTO "steps" VALUES('09156120f65e23fd-2','09156120f65e23fd',2,'calls','2024-03-04 14:00:00.000000','2024-03-04 15:30:00.000000','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 5}, "packing": []}','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','proposed','the morning''s calls come; asked because it is large','2024-03-04 12:03:00.000000','auto_approve',0);
INSERT INTO "steps" VALUES('f47ac6cfd8b2f929-1','f47ac6cfd8b2f929',1,'undoing','2024-03-04 13:00:00.000000','2024-03-04 14:00:00.000000','{"schema_version": 4, "topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','deploying','being undone: it does not hold','2024-03-04 13:10:00.000000','deploy',1);
INSERT INTO "steps" VALUES('f47ac6cfd8b2f929-2','f47ac6cfd8b2f929',2,'undoing','2024-03-04 14:00:00.000000','2024-03-04 15:30:00.000000','{"schema_version": 4, "topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}','{"schema_version": 4, "topology": "undoing", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','proposed','the morning''s calls come','2024-03-04 12:00:00.000000','planner',0);
INSERT INTO "steps" VALUES('8a3335452ca8e506-1','8a3335452ca8e506',1,'never','2024-03-04 13:00:00.000000','2024-03-04 14:00:00.000000','{"schema_version": 4, "topology": "never", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','rolled back','cut short before the cluster took it, and its time has gone by; nothing changed','2024-03-04 13:10:00.000000','deploy',1);
INSERT INTO "steps" VALUES('8a3335452ca8e506-2','8a3335452ca8e506',2,'never','2024-03-04 14:00:00.000000','2024-03-04 15:30:00.000000','{"schema_version": 4, "topology": "never", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}','{"schema_version": 4, "topology": "never", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','proposed','the morning''s calls come','2024-03-04 12:00:00.000000','planner',0);
INSERT INTO "steps" VALUES('8db4c1f39487650b-1','8db4c1f39487650b',1,'withheld','2024-03-04 13:00:00.000000','2024-03-04 14:00:00.000000','{"schema_version": 4, "topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','due','withheld: a backlog of 5 s','2024-03-04 13:01:00.000000','deploy',0);
INSERT INTO "steps" VALUES('8db4c1f39487650b-2','8db4c1f39487650b',2,'withheld','2024-03-04 14:00:00.000000','2024-03-04 15:30:00.000000','{"schema_version": 4, "topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}','{"schema_version": 4, "topology": "withheld", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','proposed','the morning''s calls come','2024-03-04 12:00:00.000000','planner',0);
INSERT INTO "steps" VALUES('8e56bc3398e6bbdb-1','8e56bc3398e6bbdb',1,'moved','2024-03-04 13:00:00.000000','2024-03-04 14:30:00.000000','{"schema_version": 4, "topology": "moved", "parallelism": {"ingest": 1, "transcribe": 4}, "packing": []}','{"schema_version": 4, "topology": "moved", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','approved','fine; follows on ingest 1 · transcribe 3, which the guard has put in place','2024-03-04 12:03:00.000000','guard',0);
INSERT INTO "steps" VALUES('guard-5094837d5b9a',NULL,0,'moved','2024-03-04 12:02:00.000000','2024-03-04 12:30:00.000000','{"schema_version": 4, "topology": "moved", "parallelism": {"ingest": 1, "transcribe": 3}, "packing": []}','{"schema_version": 4, "topology": "moved", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','approved','more come','2024-03-04 12:02:00.000000','guard',0);
INSERT INTO "steps" VALUES('8a20ed5cb91ada6f-1','8a20ed5cb91ada6f',1,'edited','2024-03-04 13:00:00.000000','2024-03-04 14:30:00.000000','{"schema_version": 4, "topology": "edited", "parallelism": {"ingest": 1, "transcribe": 5}, "packing": []}','{"schema_version": 4, "topology": "edited", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','proposed','the morning''s calls come','2024-03-04 12:00:00.000000','planner',0);
INSERT INTO "steps" VALUES('hand-a30a55ab1639',NULL,0,'calls','2024-03-04 12:05:00.000000','2024-03-04 12:09:00.000000','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 9}, "packing": []}','{"schema_version": 4, "topology": "calls", "parallelism": {"ingest": 1, "transcribe": 2}, "packing": []}','approved','fair','2024-03-04 12:00:00.000000','anna',0);
CREATE INDEX ix_forecasts_topology_issued_at ON forecasts (topology, issued_at);
CREATE INDEX ix_schedules_topology_made_at ON schedules (topology, made_at);
CREATE INDEX ix_step_events_step_id ON step_events (step_id);
CREATE INDEX ix_steps_schedule_id ON steps (schedule_id);
CREATE INDEX ix_steps_topology_state_deploy_at ON steps (topology, state, deploy_at);
CREATE INDEX ix_guard_actions_topology_decided_at ON guard_actions (topology, decided_at);
COMMIT;
