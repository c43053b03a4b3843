using RedKite.Figures;

namespace RedKite.History.Tests;

/// <summary>Records: their figures and the revision they name.</summary>
public sealed class RecorderTests : IDisposable
{
    private static readonly WorkingCopy Clean = new(new string('a', 40), IsDirty: false);

    private readonly string _repository = Directory.CreateTempSubdirectory("redkite-history-tests-").FullName;

    [Fact]
    public void Report_becomes_a_record()
    {
        HistoryRecord record = Recorder.ToRecord(Clean, "--rounds 3", Fixtures.Report);
        Assert.Equal((Clean.Revision, false, "cpu", "--rounds 3"), (record.Revision, record.Dirty, record.Scenario, record.Settings));
        Assert.Equal(("2026-01-04T10:00:00Z", "Machine A, 2 cores"), (record.Date, record.Machine));
    }

    [Fact]
    public void Figures_are_named_after_their_row()
    {
        Assert.Equal(
            new Dictionary<string, double>
            {
                ["1,000 keys, pipeline 1: cpu ns/op"] = 5000.5,
                ["1,000 keys, pipeline 1: redis / this"] = 1.2,
                ["1,000 keys, pipeline 16: cpu ns/op"] = 900,
                ["1,000 keys, pipeline 16: redis / this"] = 1.9,
                ["longest operations, loop set, clock wall: us"] = 90.5,
                ["longest operations, loop set, clock wall: keys before it"] = 10,
            },
            Recorder.ToRecord(Clean, "", Fixtures.Report).Figures);
    }

    [Fact]
    public void Report_without_figures_is_refused()
    {
        const string report = """{"scenario":"loadgen","date":"","machine":"","notes":["not measured: no generator"],"tables":[],"targets":[]}""";
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => Recorder.ToRecord(Clean, "", report));
        Assert.Contains("not measured: no generator", thrown.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Dirty_working_copy_is_refused_unless_allowed()
    {
        WorkingCopy dirty = Clean with { IsDirty = true };
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => Recorder.EnsureRecordable(dirty, allowDirty: false));
        Assert.Contains("not committed", thrown.Message, StringComparison.Ordinal);
        Recorder.EnsureRecordable(dirty, allowDirty: true);
        Recorder.EnsureRecordable(Clean, allowDirty: false);
        Assert.True(Recorder.ToRecord(dirty, "", Fixtures.Report).Dirty);
    }

    [Fact]
    public void Changes_and_new_files_are_dirty_but_records_are_not()
    {
        Assert.SkipWhen(ExternalProgram.Find("git") is null, "git is not installed");
        Git("init", "--quiet");
        Write("source", "one");
        Write("bench/results.ndjson", "line\n");
        Git("add", ".");
        Git("-c", "user.name=Tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "one");
        Assert.Equal(new WorkingCopy(Git("rev-parse", "HEAD").Trim(), IsDirty: false), WorkingCopy.Read(_repository));

        Write("bench/results.ndjson", "line\nline\n");
        Assert.False(WorkingCopy.Read(_repository).IsDirty);
        Write("source", "two");
        Assert.True(WorkingCopy.Read(_repository).IsDirty);
        Write("source", "one");
        Write("new", "");
        Assert.True(WorkingCopy.Read(_repository).IsDirty);
    }

    public void Dispose() => Directory.Delete(_repository, recursive: true);

    private void Write(string path, string text)
    {
        string file = Path.Combine(_repository, path);
        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.WriteAllText(file, text);
    }

    private string Git(params string[] arguments) => ExternalProgram.Run("git", ["-C", _repository, .. arguments]);
}
