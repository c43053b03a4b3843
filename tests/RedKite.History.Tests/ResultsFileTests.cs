using RedKite.Figures;

namespace RedKite.History.Tests;

/// <summary>The file of records: appending, reading, and errors.</summary>
public sealed class ResultsFileTests : IDisposable
{
    private readonly string _file = Path.GetTempFileName();

    [Fact]
    public void Appended_record_is_read_back()
    {
        var record = new HistoryRecord(
            new string('a', 40), true, "2026-01-01T10:00:00Z", "A \"machine\" & more", "cpu", "--rounds 3", new Dictionary<string, double> { ["a: ns"] = 1.5 });
        ResultsFile.Append(_file, record);
        ResultsFile.Append(_file, record with { Dirty = false });
        Assert.Equal(2, File.ReadAllLines(_file).Length);

        List<HistoryRecord> read = ResultsFile.Read(_file);
        Assert.Equal([true, false], read.Select(one => one.Dirty));
        Assert.Equal(record.Figures, read[0].Figures);
        Assert.Equal(record, read[0] with { Figures = record.Figures });
    }

    [Theory]
    [InlineData("", "")]
    [InlineData("{\"revision\":\"a\"", "")]
    [InlineData("[]", "")]
    [InlineData("{}", "there is no \"figures\"")]
    [InlineData("""{"revision":"a","date":"","machine":"","scenario":"","settings":"","figures":{"a":1}}""", "there is no \"dirty\"")]
    [InlineData("""{"revision":null,"dirty":false,"date":"","machine":"","scenario":"","settings":"","figures":{"a":1}}""", "\"revision\" is null")]
    [InlineData("""{"revision":"a","dirty":false,"date":"","machine":"","scenario":"","settings":"","figures":{"a":"1"}}""", "")]
    [InlineData("""{"revision":"a","dirty":false,"date":"","machine":"","scenario":"","settings":"","figures":{}}""", "\"figures\" is empty")]
    public void Malformed_line_is_named(string line, string message)
    {
        File.WriteAllLines(_file, [.. File.ReadAllLines(Fixtures.Results)[..2], line]);
        CannotMeasureException thrown = Assert.Throws<CannotMeasureException>(() => ResultsFile.Read(_file));
        Assert.StartsWith($"{_file}, line 3: {message}", thrown.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void File_without_records_is_reported()
    {
        Assert.Throws<CannotMeasureException>(() => ResultsFile.Read(_file));
        Assert.Throws<CannotMeasureException>(() => ResultsFile.Read(_file + ".gone"));
    }

    [Fact]
    public void Committed_records_can_be_read()
    {
        string file = Path.Combine(Repository.Root, ResultsFile.RepositoryPath);
        Assert.SkipUnless(File.Exists(file), "nothing is recorded yet");
        Assert.NotEmpty(ResultsFile.Read(file));
    }

    public void Dispose() => File.Delete(_file);
}
