using RedKite.Server.Commands.Sorting;

namespace RedKite.Server.Tests.Limits;

/// <summary>SORT reads its options and patterns once, however many elements there are.</summary>
public sealed class SortWorkTests : TranscriptTests
{
    private const int Elements = 300;
    private const int Words = 500;

    // Each element looked through all options for the next GET, and through the whole of a pattern for an asterisk.
    [Fact]
    public void Options_and_patterns_are_read_once_for_all_elements()
    {
        string by = new string('b', 3_000) + "*", missing = new('m', 3_000), field = new string('f', 3_000) + "*->field";
        string[] words = [.. Enumerable.Repeat("ASC", Words)];
        Server.Execute(["RPUSH", "l", .. Enumerable.Range(0, Elements).Select(i => $"{i}")]);
        string[] request = ["SORT", "l", "BY", by, .. words, "GET", missing, "GET", field, .. words, "GET", "#"];
        SortPattern.ReadSteps = 0;
        Assert.Equal(3 * Elements, Server.Execute(request).Items.Count);
        Assert.InRange(SortPattern.ReadSteps, 1, (2 * (by.Length + missing.Length + field.Length + 1)) + request.Length);
        SortPattern.ReadSteps = 0;
        Assert.Equal(3 * Elements, Server.Execute([.. request, "STORE", "d"]).Integer);
        Assert.InRange(SortPattern.ReadSteps, 1, (2 * (by.Length + missing.Length + field.Length + 1)) + request.Length + 2);
    }

    [Fact]
    public void Permissions_are_asked_for_patterns_that_name_keys()
    {
        string by = new('b', 3_000);
        Server.Execute("ACL", "SETUSER", "u", "on", "nopass", "~l", "+@all");
        using RedKiteSession client = Server.CreateSession();
        client.Execute("AUTH", "u", "x");
        Assert.Empty(client.Execute(["SORT", "l", "BY", by, .. Enumerable.Repeat("ALPHA", Words)]).Items);
        Assert.Equal("ERR GET option of SORT denied due to insufficient ACL permissions.", client.Execute(["SORT", "l", "BY", by, "GET", "#", "DESC"]).Text);
        Assert.Equal("ERR BY option of SORT denied due to insufficient ACL permissions.", client.Execute(["SORT", "l", "BY", by + "*", "GET", "#", "DESC"]).Text);
    }
}
