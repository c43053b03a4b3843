using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// A loop that waits for a stripe of a busy script serves none of its clients, not even one that would kill the script. So every place that waits
/// for stripes whatever a script does is reviewed: stripe-waits.tsv says which thread waits there. A new one fails here until its row is written;
/// on a loop's thread it uses a form that gives way (TryLock, TryLockAll, EnterOrGiveWay, TryEnterSoon, TryEnterStripe, ApplyUnlessBusy).
/// </summary>
public sealed class StripeWaitTests
{
    private const string ListPath = "tests/RedKite.Repo.Tests/stripe-waits.tsv";

    private const string Arguments = @"\((?>[^()]+|\((?<depth>)|\)(?<-depth>))*(?(depth)(?!))\)";

    // A lock scope that waits, a stripe that is entered, and what does that inside.
    private static readonly Regex Wait = new(
        @"\b\w*[sS]tripe\w*(?:\[[^\]]*\])?\.Enter\(\)" +
        @"|\b\w*[kK]eyspace\.Lock(?:All|ForScript)?" + Arguments +
        @"|\blocked\.Grow" + Arguments +
        @"|\b\w*[cC]hanges\.(?:Apply|Subscribe|Unsubscribe|SubscribeToEffects|UnsubscribeFromEffects)" + Arguments +
        @"|\b\w*[bB]locked\.Remove" + Arguments);

    [Fact]
    public void Waits_for_stripes_are_reviewed()
    {
        string[] found = [.. Repository.Files("src", ".cs").SelectMany(path => Of(Repository.Read(path)).Select(form => $"{Path.GetFileName(path)}\t{form}")).Distinct().Order(StringComparer.Ordinal)];
        Dictionary<string, string> reviewed = Repository.Read(ListPath).Split('\n', StringSplitOptions.RemoveEmptyEntries).Skip(1)
            .Select(line => line.Split('\t')).ToDictionary(cells => $"{cells[0]}\t{cells[1]}", cells => cells.Length > 2 ? cells[2].Trim() : "");
        Repository.AssertNone([
            .. found.Where(row => !reviewed.TryGetValue(row, out string? thread) || thread.Length == 0).Select(row => $"{ListPath} does not say which thread waits: {row}"),
            .. reviewed.Keys.Except(found).Select(row => $"{ListPath} names what is not there: {row}"),
        ]);
    }

    [Theory]
    [InlineData("stripe.Enter();", "stripe.Enter()")]
    [InlineData("_keyspace.Stripes[index].Enter();", "Stripes[index].Enter()")]
    [InlineData("using LockScope locked = _keyspace.LockAll();", "_keyspace.LockAll()")]
    [InlineData("using (keyspace.Lock(StripeSet.Of(stripe))) action();", "keyspace.Lock(StripeSet.Of(stripe))")]
    [InlineData("locked.Grow(client.Stripes);", "locked.Grow(client.Stripes)")]
    [InlineData("_engine.Changes.Apply();", "Changes.Apply()")]
    [InlineData("changes.UnsubscribeFromEffects(log);", "changes.UnsubscribeFromEffects(log)")]
    [InlineData("if (!_keyspace.TryLockAll(flag, out LockScope locked)) return;", null)]
    [InlineData("if (!stripe.TryEnterSoon()) continue;", null)]
    [InlineData("_engine.Changes.ApplyUnlessBusy();", null)]
    public void A_wait_is_found(string source, string? form) => Assert.Equal(form is null ? [] : [form], Of(source).ToArray());

    private static IEnumerable<string> Of(string source) => Wait.Matches(CSharpText.CodeOnly(source)).Select(match => Regex.Replace(match.Value, @"\s+", " ").Trim());
}
