"""Sample files: CSV and JSON say the same; what cannot be is refused with file, place, field, value and remedy."""

import json
import math
from dataclasses import asdict
from pathlib import Path

import pytest

from forescale.files.file_error import FileError
from forescale.files.samples import read_sample_file
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.topology import Operator, Stream, Topology

SHOP = Topology("shop", tuple(Operator(n) for n in "abjk"), (Stream("a", "j"), Stream("b", "j"), Stream("j", "k")))
HEADER = "operator,index,span_s,busy_s,backpressured_s,records_in"
EVERYTHING = OperatorSample(
    "j",
    1,
    60.0,
    12.5,
    3.0,
    1500.0,
    {"j->k": 700.0},
    1_780_000_000.0,
    900.0,
    {"a->j": 1000.0, "b->j": 500.0},
    {"a->j": 2.5, "b->j": 10.0},
    2e-4,
    3,
    11.0,
    412.5,
    0.25,
    1.5,
    4,
)
SOURCE = OperatorSample("a", 0, 60.0, 6.0, 0.0, 600.0, {"a->j": 600.0})
AS_CSV = (
    f"{HEADER},records_out:a->j,records_out:j->k,began_s,age_s,records_in:a->j,records_in:b->j,busy_s:a->j,busy_s:b->j,"
    "service_second_moment_s2,parallelism,cpu_s,memory_mib,gc_s,state_gib,threads\n"
    "j,1,60,12.5,3,1500,0,700,1780000000,900,1000,500,2.5,10,2e-4,3,11,412.5,0.25,1.5,4\n"
    "\n"
    "a,0,60,6,0,600,600,,,,,,,,,,,,,,\n"
)


def written(folder: Path, text: str, name: str = "m.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_json__say_the_same(tmp_path: Path) -> None:
    assert read_sample_file(written(tmp_path, AS_CSV), SHOP) == [EVERYTHING, SOURCE]
    as_json = json.dumps({"topology": "shop", "samples": [asdict(EVERYTHING), asdict(SOURCE)]})
    assert read_sample_file(written(tmp_path, as_json, "m.json"), SHOP) == [EVERYTHING, SOURCE]


def test_csv__of_a_spreadsheet_is_read(tmp_path: Path) -> None:
    text = "\ufeff" + f"{HEADER}\r\n" + '"k", 0 ,60,6,0,600\r\n'
    assert read_sample_file(written(tmp_path, text), SHOP) == [OperatorSample("k", 0, 60, 6, 0, 600, {})]


def test_sums_by_input__may_be_off_by_rounding_and_idle_rows_may_be_alike(tmp_path: Path) -> None:
    text = f"{HEADER},records_in:a->j,records_in:b->j\nj,0,60,6,0,600,400.2,200.3\n" + 2 * "j,0,60,0,0,0,0,0\n"
    assert len(read_sample_file(written(tmp_path, text), SHOP)) == 3


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "is empty; give a sample of every instance"),
        (f"{HEADER}\n", "holds no samples; give one of every instance"),
        ("operator,index,span_s,busy_s,records_in\n", "line 1: column backpressured_s is missing"),
        (f"{HEADER},colour\n", "line 1: 'colour' is no column; known are operator"),
        (f"{HEADER},busy_s\n", "line 1: column busy_s is given twice"),
        (f"{HEADER}\nk,0,60,6,0,600\nk,1,60,NaN,0,600\n", "line 3: busy_s: 'NaN' is not finite; drop the row"),
        (f"{HEADER}\nk,0,60,inf,0,600\n", "line 2: busy_s: 'inf' is not finite"),
        (f"{HEADER}\nk,0,60,-6,0,600\n", "line 2: busy_s: -6 is below 0; drop the row, or correct it"),
        (f"{HEADER}\nk,0,60,6 s,0,600\n", "line 2: busy_s: '6 s' is not a number"),
        (f"{HEADER}\nk,0,60,,0,600\n", "line 2: busy_s: '' is not a number"),
        (f"{HEADER}\nk,0.5,60,6,0,600\n", "line 2: index: '0.5' is not a whole number"),
        (f"{HEADER}\nk,0,0,6,0,600\n", "line 2: .*span_s is 0; measure over some seconds"),
        (f"{HEADER}\nk,0,60,6,0\n", "line 2: 5 cells under 6 columns; fill or cut the row"),
        (f"{HEADER}\nq,0,60,6,0,600\n", "line 2: operator: 'q' is not in topology 'shop'; known are a, b, j, k"),
        (f"{HEADER}\nk,0,60,6000,0,600\n", "line 2: .*6000 s in a span of 60 s; give seconds of one instance"),
        (
            f"{HEADER},parallelism\nk,2,60,6,0,600,2\n",
            "line 2: index: 2 with a parallelism of 2; count instances from 0",
        ),
        (f"{HEADER},records_out:a->q\nk,0,60,6,0,600,0\n", "line 2: records_out: 'a->q' is no stream that leaves 'k'"),
        (
            f"{HEADER},records_in:a->j\nk,0,60,6,0,600,5\n",
            "line 2: records_in_by: 'a->j' .* enters 'k'; those are j->k",
        ),
        (
            f"{HEADER},began_s\nk,0,60,6,0,600,10\nk,1,60,6,0,600,10\nk,0,60,7,0,600,10\n",
            r"line 4: instance 0 of 'k' is given twice for the span that began at 10 s \(before: line 2\)",
        ),
        (
            f"{HEADER}\nk,0,60,6,0,600\nk,1,60,6,0,600\nk,0,60,6,0,600\n",
            r"line 4: instance 0 of 'k' is given twice with the same numbers \(before: line 2\); keep one",
        ),
        (
            f"{HEADER},records_in:a->j,records_in:b->j\nj,0,60,6,0,600,400,300\n",
            "line 2: records_in_by: 700 of all inputs together, more than records_in of 600; give parts",
        ),
        (
            f"{HEADER},busy_s:a->j,busy_s:b->j\nj,0,60,6,0,600,4,4\n",
            "line 2: busy_s_by: 8 of all inputs together, more than busy_s of 6; give parts",
        ),
        (f"{HEADER}\nk,1e30,60,6,0,600\n", "line 2: index: 1e30 is above 2147483648; correct it"),
        (f"{HEADER},parallelism\nk,0,60,6,0,600,1e30\n", "line 2: parallelism: 1e30 is above 2147483648; correct it"),
        (f"{HEADER},parallelism\nk,0,60,6,0,600,0\n", "line 2: parallelism: 0 of 'k', which runs as 1 to 128"),
        (f"{HEADER},parallelism\nk,0,60,6,0,600,129\n", "line 2: parallelism: 129 of 'k', .*correct it, or max_par"),
        (f"{HEADER}\nk,128,60,6,0,600\n", "line 2: index: 128 with a max_parallelism of 128; count instances from 0"),
        (f'{HEADER}\nk,"0,60\n', "line 2 is not CSV"),
    ],
)
def test_csv__that_cannot_be_is_refused_with_line_field_value_and_remedy(tmp_path: Path, text: str, named: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileError, match=named) as caught:
        read_sample_file(path, SHOP)
    assert str(path) in str(caught.value)


GOOD = {"operator": "k", "index": 0, "span_s": 60, "busy_s": 6, "backpressured_s": 0, "records_in": 600}


def document(**changed: object) -> str:
    return json.dumps({"topology": "shop", "samples": [GOOD, GOOD | changed]})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "is not JSON"),
        ("[]", r"\(file\)"),
        ('{"topology": "other", "samples": []}', "topology: 'other' is not 'shop'; give samples of this topology"),
        ('{"topology": "shop", "samples": []}', "holds no samples"),
        (document(busy_s=math.nan), "holds NaN, which is no number"),
        (document(busy_s="6"), r"samples\.1\.busy_s: .*valid number.*given: '6'"),
        (document(busy_s=-1), r"samples\.1\.busy_s: .*given: -1"),
        (document(colour="red"), r"samples\.1\.colour is not a known field; remove it"),
        (document(operator="q"), r"samples\.1: operator: 'q' is not in topology"),
        (document(records_out={"k->a": 1}), r"samples\.1: records_out: 'k->a' is no stream that leaves 'k'"),
        (document(parallelism=10**30), r"samples\.1\.parallelism: .*2147483648"),
        (document(index=10**30), r"samples\.1\.index: .*2147483648"),
        (document(parallelism=200), r"samples\.1: parallelism: 200 of 'k', which runs as 1 to 128 instances"),
        (document(), r"samples\.1: instance 0 of 'k' is given twice with the same numbers \(before: samples\.0\)"),
        (document(busy_s=60_000), r"samples\.1: .*give seconds of one instance"),
        (document().replace("600", "1e999"), r"samples\.0\.records_in: .*finite"),
    ],
)
def test_json__that_cannot_be_is_refused_with_entry_field_value_and_remedy(
    tmp_path: Path, text: str, named: str
) -> None:
    path = written(tmp_path, text, "m.json")
    with pytest.raises(FileError, match=named) as caught:
        read_sample_file(path, SHOP)
    assert str(path) in str(caught.value)


def test_files__that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(b"operator\xff\xfe")
    with pytest.raises(FileError, match=r"m\.csv: byte 8 is not UTF-8"):
        read_sample_file(path, SHOP)
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_sample_file(tmp_path / "none.csv", SHOP)
    with pytest.raises(FileError, match="cannot be read"):
        read_sample_file(tmp_path, SHOP)


def test_the_documented_file__is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "topology-file.md").read_text()
    example = page.partition("```csv\n")[2].partition("```")[0]
    words = Topology("words", (Operator("split"), Operator("count")), (Stream("split", "count"),))
    first, second = read_sample_file(written(tmp_path, example), words)
    assert (first.index, second.index, first.parallelism) == (0, 1, 2)
    assert first.records_out == {"split->count": 15010}


def test_a_key_of_a_json_file_that_is_given_twice__is_refused(tmp_path: Path) -> None:
    topology = Topology("pair", (Operator("count"),), ())
    (tmp_path / "pair.json").write_text('{"topology": "pair", "topology": "pair", "samples": []}')
    with pytest.raises(FileError, match="'topology' is given twice"):
        read_sample_file(tmp_path / "pair.json", topology)
